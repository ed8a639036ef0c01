#!/bin/sh
# A ptxas whose code is slow: it says so, as the real one does, and goes on.
while [ "$1" != -o ]; do shift; done
echo code >"$2"
cat >&2 <<END
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirement.
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient registers in function 'sdpa_kernel'
ptxas info    : (C7519) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a call in function 'sdpa_kernel'
ptxas info    : (C7600) of something else
END
