#!/usr/bin/env node
// attn-runner.mjs MODULE.wasm ENTRY CALL: calls one kernel of a module of WebAssembly in node.
//
// What attn-runner.c does for a library: reads the call that attnc run --runner has written (CallFile.h), calls the
// checked entry, and writes the answer back. Nothing traps beyond an array. So each has a border of bytes that are NaN
// as any float, which a kernel must neither write nor read.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import { readFileSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

// Node 20 has relaxed vectors behind a flag.
if (parseFloat(process.versions.v8) < 11.4) setFlagsFromString("--experimental-wasm-relaxed-simd");

const MAGIC = 0x316c61636e747461n;
const MESSAGE = 2048;
const RANK = 8;
const HEADER = 3 * 8 + MESSAGE;
const RECORD = (4 + 2 * RANK + 3) * 8;
const BORDER = 64;

// DLTensor where a pointer has 4 bytes.
const TENSOR = { bytes: 40, data: 0, device: 4, ndim: 12, code: 16, bits: 17, lanes: 18, shape: 20, strides: 24, offset: 32 };

function stop(text) {
  process.stderr.write(`attn-runner: error: ${text}\n`);
  process.exit(2);
}

function readRecord(view, at) {
  const word = (i) => Number(view.getBigInt64(at + 8 * i, true));
  const words = (first) => Array.from({ length: word(2) }, (_, i) => view.getBigInt64(at + 8 * (first + i), true));
  const last = 4 + 2 * RANK;
  return {
    code: word(0), bits: word(1), rank: word(2), shape: words(4), strides: word(3) ? words(4 + RANK) : null,
    offset: word(last), bytes: word(last + 1), first: word(last + 2),
  };
}

class Memory {
  constructor(exports) {
    this.exports = exports;
  }

  get view() {
    return new DataView(this.exports.memory.buffer);
  }

  get bytes() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  allocate(bytes) {
    const address = this.exports.malloc(bytes) >>> 0;
    return address || stop(`expected ${bytes} bytes of memory, found none`);
  }

  // Of 64-bit numbers.
  list(numbers) {
    const address = this.allocate(8 * numbers.length + 8);
    numbers.forEach((number, i) => this.view.setBigInt64(address + 8 * i, number, true));
    return address;
  }

  array(bytes) {
    const address = this.allocate(bytes.length + 2 * BORDER) + BORDER;
    this.bytes.fill(0xff, address - BORDER, address + bytes.length + BORDER);
    this.bytes.set(bytes, address);
    return address;
  }

  hasBorders(address, length) {
    const isWhole = (from) => this.bytes.subarray(from, from + BORDER).every((byte) => byte === 0xff);
    return isWhole(address - BORDER) && isWhole(address + length);
  }

  tensor(record, data) {
    const [shape, strides] = [this.list(record.shape), record.strides ? this.list(record.strides) : 0];
    const at = this.allocate(TENSOR.bytes);
    const view = this.view;
    view.setUint32(at + TENSOR.data, data, true);
    view.setInt32(at + TENSOR.device, 1, true); // kDLCPU
    view.setInt32(at + TENSOR.device + 4, 0, true);
    view.setInt32(at + TENSOR.ndim, record.rank, true);
    view.setUint8(at + TENSOR.code, record.code);
    view.setUint8(at + TENSOR.bits, record.bits);
    view.setUint16(at + TENSOR.lanes, 1, true);
    view.setUint32(at + TENSOR.shape, shape, true);
    view.setUint32(at + TENSOR.strides, strides, true);
    view.setBigUint64(at + TENSOR.offset, BigInt(record.first), true);
    return at;
  }
}

const [modulePath, entry, callPath] = process.argv.slice(2);
if (!callPath) stop("expected MODULE.wasm ENTRY CALL, found another number of arguments");
const file = readFileSync(callPath);
const call = new DataView(file.buffer, file.byteOffset, file.length);
if (call.getBigInt64(0, true) !== MAGIC) stop(`expected a call that attnc has written, found another file: ${callPath}`);
const count = Number(call.getBigInt64(8, true));
const records = Array.from({ length: count }, (_, i) => readRecord(call, HEADER + i * RECORD));

const module = new WebAssembly.Module(readFileSync(modulePath));
const { exports } = new WebAssembly.Instance(module);
if (!exports[entry]) stop(`cannot find the entry ${entry}`);
const memory = new Memory(exports);
const data = records.map((record) => memory.array(file.subarray(record.offset, record.offset + record.bytes)));
const tensors = records.map((record, i) => memory.tensor(record, data[i]));
const table = memory.allocate(4 * count + 4);
tensors.forEach((tensor, i) => memory.view.setUint32(table + 4 * i, tensor, true));
const message = memory.allocate(MESSAGE);
memory.bytes.fill(0, message, message + MESSAGE);

call.setBigInt64(16, BigInt(exports[entry](table, BigInt(count), message, BigInt(MESSAGE))), true);
file.set(memory.bytes.subarray(message, message + MESSAGE), 24);
records.forEach((record, i) => {
  if (!memory.hasBorders(data[i], record.bytes)) stop(`expected argument ${i} to be written within, found a write beside it`);
  file.set(memory.bytes.subarray(data[i], data[i] + record.bytes), record.offset);
});
writeFileSync(callPath, file);
