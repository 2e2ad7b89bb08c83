/* In the place of NVIDIA's driver, for Triton's launcher: it answers as a GPU would, and keeps what is launched. */

#include "cuda.h"

#define MOST 4096

typedef struct {
  long long function;
  unsigned x, y, z, threads;
} Launch;

Launch launches[MOST];
int launched = 0;
static long long functions = 0;

CUresult cuCtxGetCurrent(CUcontext *context) { *context = (CUcontext)1; return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { return CUDA_SUCCESS; }
CUresult cuCtxGetLimit(size_t *value, CUlimit limit) { *value = 0; return CUDA_SUCCESS; }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int number) { *device = number; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute asked, CUdevice device) { *value = 49152; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) { *context = (CUcontext)1; return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) { *version = 13000; return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute asked, CUfunction function) {
  *value = asked == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute asked, int value) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char **text) { *text = "refused"; return CUDA_SUCCESS; }
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute asked, CUdeviceptr pointer) {
  *(CUdeviceptr *)value = pointer;
  return CUDA_SUCCESS;
}

/* Machine code begins as every ELF file does. */
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  const char *bytes = image;
  *module = (CUmodule)1;
  return bytes[0] == 0x7f && bytes[1] == 'E' ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  *function = (CUfunction)(++functions);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  if (launched == MOST) return CUDA_ERROR_OUT_OF_MEMORY;
  launches[launched++] = (Launch){(long long)function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                  config->blockDimX * config->blockDimY * config->blockDimZ};
  return CUDA_SUCCESS;
}
