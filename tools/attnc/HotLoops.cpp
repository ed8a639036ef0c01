//===- HotLoops.cpp - instruction mix of the main loops -------------------===//
//
// A loop is the span of a backward jump. A loop without another inside is innermost.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "HotLoops.h"
#include "attn/CodeGen/CodeGen.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Object/SymbolSize.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Prefixes of LLVM's names of x86 instructions; those of AVX have a V in front.
static constexpr StringLiteral kFma[] = {"FMADD", "FMSUB", "FNMADD", "FNMSUB"};
static constexpr StringLiteral kMultiply[] = {"MULPS", "MULPD"};
static constexpr StringLiteral kDot[] = {"DPBF16PS", "DPPHPS", "PDPBUSD", "PDPWSSD", "PDPBSSD", "TDP"};
static constexpr StringLiteral kShuffle[] = {"PERM",    "UNPCK",     "PUNPCK", "SHUF",  "PSHUF",  "INSERT",
                                             "EXTRACT", "BROADCAST", "PBROAD", "ALIGN", "PACK",   "PALIGN",
                                             "PINSR",   "PEXTR",     "MOVHL",  "MOVLH", "MOVDDUP"};
static constexpr StringLiteral kConvert[] = {"CVT", "PMOV"};

/// The same for 64-bit Arm.
static constexpr StringLiteral kArmFma[] = {"FMLA", "FMLS", "FMAD", "FMSB"};
static constexpr StringLiteral kArmDot[] = {"BFDOT", "BFMMLA", "SDOT", "UDOT", "SMMLA", "UMMLA"};
static constexpr StringLiteral kArmShuffle[] = {"ZIP", "UZP", "TRN", "EXT", "DUP", "INS", "TBL", "REV", "SPLICE"};
static constexpr StringLiteral kArmConvert[] = {"FCVT", "BFCVT", "SCVTF", "UCVTF", "SSHLL", "USHLL", "XTN", "SHLL"};
static constexpr StringLiteral kArmPrefetch[] = {"PRFM", "PRFUM", "PRF"};

/// The same for RISC-V.
static constexpr StringLiteral kRiscvFma[] = {"VFMACC",  "VFMADD",  "VFMSAC",  "VFMSUB", "VFNMACC",
                                              "VFNMADD", "VFNMSAC", "VFNMSUB", "VFWMACC"};
static constexpr StringLiteral kRiscvShuffle[] = {"VRGATHER", "VSLIDE", "VMV", "VFMV", "VMERGE", "VCOMPRESS"};
static constexpr StringLiteral kRiscvConvert[] = {"VFCVT", "VFWCVT", "VFNCVT", "VSEXT", "VZEXT", "VNSR", "VWADD"};
/// Whole registers are moved by spills alone: kernels load and store elements.
static constexpr StringLiteral kRiscvSpill[] = {"VL1R", "VL2R", "VL4R", "VL8R", "VS1R", "VS2R", "VS4R", "VS8R"};
static constexpr StringLiteral kRiscvPrefetch[] = {"PREFETCH"};

/// The registers that may address a frame.
static constexpr StringLiteral kFrame[] = {"RBP", "RBX"}, kArmFrame[] = {"FP", "X19"}, kRiscvFrame[] = {"X8"};

namespace {
/// Name prefixes for one architecture.
struct Kinds {
  ArrayRef<StringLiteral> fma, dot, shuffle, convert, prefetch, frame, spill;
  StringLiteral copy, stackPointer; ///< the instruction that copies the stack pointer
  StringLiteral ignored;            ///< in front of the names above
};
} // namespace

static Kinds getKinds(const TargetInfo &target) {
  if (target.isArm())
    return {kArmFma, kArmDot, kArmShuffle, kArmConvert, kArmPrefetch, kArmFrame, {}, "ADDXri", "SP", ""};
  if (Triple(target.triple).isRISCV())
    return {kRiscvFma, {}, kRiscvShuffle, kRiscvConvert, kRiscvPrefetch, kRiscvFrame, kRiscvSpill, "ADDI", "X2", ""};
  return {target.hasFma ? ArrayRef(kFma) : ArrayRef(kMultiply),
          kDot,
          kShuffle,
          kConvert,
          {},
          kFrame,
          {},
          "MOV64rr",
          "RSP",
          "V"};
}

static bool startsWithAny(StringRef name, ArrayRef<StringLiteral> starts) {
  return any_of(starts, [&](StringRef start) { return name.starts_with(start); });
}

namespace {

struct Instruction {
  MCInst inst;
  uint64_t address = 0, size = 0;
};

/// The machine code of one function.
class FunctionCode {
public:
  FunctionCode(const TargetMachine &machine, const TargetInfo &target, const MCInstrAnalysis &analysis,
               MCInstPrinter &printer)
      : info(*machine.getMCInstrInfo()), registers(*machine.getMCRegisterInfo()),
        subtarget(*machine.getMCSubtargetInfo()), isX86(Triple(target.triple).isX86()), kinds(getKinds(target)),
        analysis(analysis), printer(printer) {
    frame = {kinds.stackPointer};
  }

  Error disassemble(const MCDisassembler &disassembler, ArrayRef<uint8_t> bytes) {
    for (uint64_t address = 0; address < bytes.size();) {
      Instruction instruction;
      instruction.address = address;
      if (disassembler.getInstruction(instruction.inst, instruction.size, bytes.drop_front(address), address,
                                      nulls()) != MCDisassembler::Success)
        return createStringError("LLVM cannot read an instruction at offset " + Twine(address));
      address += instruction.size;
      code.push_back(std::move(instruction));
    }
    findFrame();
    return Error::success();
  }

  /// The instructions of a loop.
  std::vector<MCInst> getInstructions(const HotLoop &loop) const {
    std::vector<MCInst> insts;
    for (const Instruction &instruction : code)
      if (instruction.address >= loop.start && instruction.address < loop.end)
        insts.push_back(instruction.inst);
    return insts;
  }

  std::vector<HotLoop> findLoops() const {
    // First and last instruction of the span of each backward jump.
    std::vector<std::pair<uint64_t, uint64_t>> spans;
    for (const Instruction &instruction : code) {
      uint64_t place;
      if (info.get(instruction.inst.getOpcode()).isBranch() &&
          analysis.evaluateBranch(instruction.inst, instruction.address, instruction.size, place) &&
          place <= instruction.address)
        spans.push_back({place, instruction.address});
    }
    std::vector<HotLoop> loops;
    for (auto span : spans) {
      if (any_of(spans,
                 [&](auto inner) { return inner != span && span.first <= inner.first && inner.second <= span.second; }))
        continue;
      HotLoop loop = count(span.first, span.second);
      if (loop.fma + loop.dot >= kHotMultiplyAdds)
        loops.push_back(loop);
    }
    llvm::sort(loops, [](const HotLoop &a, const HotLoop &b) { return a.start < b.start; });
    return loops;
  }

private:
  /// Finds the registers that address the frame: those of Kinds to which the function copies the stack pointer.
  void findFrame() {
    for (const Instruction &instruction : code) {
      if (!info.getName(instruction.inst.getOpcode()).starts_with(kinds.copy) ||
          getRegister(instruction.inst.getOperand(1)) != kinds.stackPointer)
        continue;
      StringRef copy = getRegister(instruction.inst.getOperand(0));
      if (is_contained(kinds.frame, copy))
        frame.push_back(copy);
    }
  }

  StringRef getRegister(const MCOperand &operand) const {
    return operand.isReg() && operand.getReg() ? registers.getName(operand.getReg()) : "";
  }

  /// The first of the five operands of an x86 address (base, scale, index, displacement, segment), if there is one.
  std::optional<unsigned> findAddress(const MCInst &inst) const {
    const MCInstrDesc &desc = info.get(inst.getOpcode());
    for (auto [i, operand] : enumerate(desc.operands()))
      if (operand.OperandType == MCOI::OPERAND_MEMORY && i + 4 < inst.getNumOperands())
        return i;
    return std::nullopt;
  }

  bool touchesMemory(const MCInst &inst) const {
    const MCInstrDesc &desc = info.get(inst.getOpcode());
    if (!desc.mayLoad() && !desc.mayStore())
      return false;
    return isX86 ? findAddress(inst).has_value() : !startsWithAny(info.getName(inst.getOpcode()), kinds.prefetch);
  }

  /// True for a spill, or an access with a register of the frame and without an index.
  bool isFixedStackPlace(const MCInst &inst) const {
    if (startsWithAny(info.getName(inst.getOpcode()), kinds.spill))
      return true;
    if (std::optional<unsigned> address = isX86 ? findAddress(inst) : std::nullopt)
      return is_contained(frame, getRegister(inst.getOperand(*address))) &&
             getRegister(inst.getOperand(*address + 2)).empty();
    return !isX86 && !info.getName(inst.getOpcode()).contains("ro") &&
           any_of(inst, [&](const MCOperand &operand) { return is_contained(frame, getRegister(operand)); });
  }

  HotLoop count(uint64_t first, uint64_t last) const {
    HotLoop loop;
    loop.start = first;
    for (const Instruction &instruction : code) {
      if (instruction.address < first || instruction.address > last)
        continue;
      const MCInstrDesc &desc = info.get(instruction.inst.getOpcode());
      StringRef name = info.getName(instruction.inst.getOpcode());
      name.consume_front(kinds.ignored);
      bool isAccess = touchesMemory(instruction.inst);
      ++loop.instructions;
      loop.end = instruction.address + instruction.size;
      loop.fma += startsWithAny(name, kinds.fma);
      loop.dot += startsWithAny(name, kinds.dot);
      loop.load += isAccess && desc.mayLoad();
      loop.store += isAccess && desc.mayStore();
      loop.stack += isAccess && isFixedStackPlace(instruction.inst);
      // A broadcast from memory counts only as a load.
      loop.shuffle += startsWithAny(name, kinds.shuffle) && !isAccess;
      loop.convert += startsWithAny(name, kinds.convert);
      loop.call += desc.isCall();
      raw_string_ostream line(loop.assembly);
      printer.printInst(&instruction.inst, instruction.address, "", subtarget, line);
      line << "\n";
    }
    return loop;
  }

  const MCInstrInfo &info;
  const MCRegisterInfo &registers;
  const MCSubtargetInfo &subtarget;
  bool isX86;
  Kinds kinds;
  const MCInstrAnalysis &analysis;
  MCInstPrinter &printer;
  std::vector<Instruction> code;
  SmallVector<StringRef> frame;
};

} // namespace

Expected<std::vector<HotLoop>> driver::findHotLoops(StringRef object, const TargetInfo &target, bool simulates) {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  LLVMInitializeX86Disassembler();
  LLVMInitializeAArch64Disassembler();
  LLVMInitializeRISCVDisassembler();
  Triple triple((*machine)->getTargetTriple());
  MCContext context(triple, (*machine)->getMCAsmInfo(), (*machine)->getMCRegisterInfo(),
                    (*machine)->getMCSubtargetInfo());
  std::unique_ptr<MCDisassembler> disassembler(
      (*machine)->getTarget().createMCDisassembler(*(*machine)->getMCSubtargetInfo(), context));
  std::unique_ptr<MCInstrAnalysis> analysis(
      (*machine)->getTarget().createMCInstrAnalysis((*machine)->getMCInstrInfo()));
  std::unique_ptr<MCInstPrinter> printer(
      (*machine)->getTarget().createMCInstPrinter(triple, /*SyntaxVariant=*/0, *(*machine)->getMCAsmInfo(),
                                                  *(*machine)->getMCInstrInfo(), *(*machine)->getMCRegisterInfo()));
  if (!disassembler || !analysis || !printer)
    return createStringError("this LLVM has no disassembler for " + target.triple);

  Expected<std::unique_ptr<object::ObjectFile>> file =
      object::ObjectFile::createObjectFile(MemoryBufferRef(object, "kernel.o"));
  if (!file)
    return file.takeError();
  std::vector<HotLoop> loops;
  for (auto &[symbol, size] : object::computeSymbolSizes(**file)) {
    Expected<object::SymbolRef::Type> type = symbol.getType();
    if (!type)
      return type.takeError();
    Expected<object::section_iterator> section = symbol.getSection();
    if (!section)
      return section.takeError();
    if (*type != object::SymbolRef::ST_Function || *section == (*file)->section_end() || size == 0)
      continue;
    Expected<StringRef> name = symbol.getName(), contents = (*section)->getContents();
    Expected<uint64_t> value = symbol.getValue();
    if (!name || !contents || !value)
      return joinErrors(name.takeError(), joinErrors(contents.takeError(), value.takeError()));
    FunctionCode code(**machine, target, *analysis, *printer);
    if (Error error = code.disassemble(*disassembler, arrayRefFromStringRef(*contents).slice(*value, size)))
      return error;
    for (HotLoop &loop : code.findLoops()) {
      loop.function = name->str();
      if (simulates)
        loop.cycles = simulateLoop(**machine, *analysis, code.getInstructions(loop));
      loops.push_back(loop);
    }
  }
  return loops;
}

void driver::printHotLoop(raw_ostream &os, const HotLoop &loop) {
  os << loop.function << "+" << format_hex(loop.start, 3) << ": " << loop.instructions << " instructions: " << loop.fma
     << " fma, " << loop.dot << " dot, " << loop.load << " load, " << loop.store << " store, " << loop.shuffle
     << " shuffle, " << loop.convert << " convert, " << loop.call << " call, " << loop.stack << " stack";
}

void driver::printAssembly(raw_ostream &os, const HotLoop &loop) {
  std::string name = loop.function + "+0x" + utohexstr(loop.start, /*LowerCase=*/true);
  os << "# LLVM-MCA-BEGIN " << name << "\n" << loop.assembly << "# LLVM-MCA-END " << name << "\n";
}
