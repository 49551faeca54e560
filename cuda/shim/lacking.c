/* Names of the runtime, versions 11 to 13, that are not built: each says its name and returns cudaErrorNotSupported. */
#include "shim.h"

#define LACKING(L) \
  L(__cudaGetProcAddress) L(__cudaRegisterHostVar) L(__cudaRegisterSurface) L(__cudaRegisterTexture) \
  L(__cudaRegisterUnifiedTable) L(cudaArrayGetMemoryRequirements) L(cudaArrayGetPlane) \
  L(cudaArrayGetSparseProperties) L(cudaBindSurfaceToArray) L(cudaBindTexture) L(cudaBindTexture2D) \
  L(cudaBindTextureToArray) L(cudaBindTextureToMipmappedArray) L(cudaCreateTextureObject_v2) \
  L(cudaDestroyExternalMemory) L(cudaDestroyExternalSemaphore) L(cudaDeviceFlushGPUDirectRDMAWrites) \
  L(cudaDeviceGetHostAtomicCapabilities) L(cudaDeviceGetNvSciSyncAttributes) \
  L(cudaDeviceGetP2PAtomicCapabilities) L(cudaDeviceGetTexture1DLinearMaxWidth) \
  L(cudaDeviceRegisterAsyncNotification) L(cudaDeviceUnregisterAsyncNotification) \
  L(cudaEGLStreamConsumerAcquireFrame) L(cudaEGLStreamConsumerConnect) L(cudaEGLStreamConsumerConnectWithFlags) \
  L(cudaEGLStreamConsumerDisconnect) L(cudaEGLStreamConsumerReleaseFrame) L(cudaEGLStreamProducerConnect) \
  L(cudaEGLStreamProducerDisconnect) L(cudaEGLStreamProducerPresentFrame) L(cudaEGLStreamProducerReturnFrame) \
  L(cudaEventCreateFromEGLSync) L(cudaExternalMemoryGetMappedBuffer) \
  L(cudaExternalMemoryGetMappedMipmappedArray) L(cudaFuncGetParamInfo) L(cudaGLGetDevices) \
  L(cudaGLMapBufferObject) L(cudaGLMapBufferObjectAsync) L(cudaGLRegisterBufferObject) \
  L(cudaGLSetBufferObjectMapFlags) L(cudaGLSetGLDevice) L(cudaGLUnmapBufferObject) \
  L(cudaGLUnmapBufferObjectAsync) L(cudaGLUnregisterBufferObject) L(cudaGetDriverEntryPoint) \
  L(cudaGetDriverEntryPointByVersion) L(cudaGetDriverEntryPointByVersion_ptsz) L(cudaGetDriverEntryPoint_ptsz) \
  L(cudaGetExportTable) L(cudaGetSurfaceObjectResourceDesc) L(cudaGetSurfaceReference) \
  L(cudaGetTextureAlignmentOffset) L(cudaGetTextureObjectResourceDesc) L(cudaGetTextureObjectResourceViewDesc) \
  L(cudaGetTextureObjectTextureDesc) L(cudaGetTextureObjectTextureDesc_v2) L(cudaGetTextureReference) \
  L(cudaGraphAddExternalSemaphoresSignalNode) \
  L(cudaGraphAddExternalSemaphoresWaitNode) L(cudaGraphConditionalHandleCreate) \
  L(cudaGraphExecExternalSemaphoresSignalNodeSetParams) L(cudaGraphExecExternalSemaphoresWaitNodeSetParams) \
  L(cudaGraphExecUpdate_v2) L(cudaGraphExternalSemaphoresSignalNodeGetParams) \
  L(cudaGraphExternalSemaphoresSignalNodeSetParams) L(cudaGraphExternalSemaphoresWaitNodeGetParams) \
  L(cudaGraphExternalSemaphoresWaitNodeSetParams) L(cudaGraphKernelNodeGetParams_v2) \
  L(cudaGraphMemAllocNodeGetParams) L(cudaGraphReleaseUserObject) L(cudaGraphRetainUserObject) \
  L(cudaGraphicsEGLRegisterImage) L(cudaGraphicsGLRegisterBuffer) L(cudaGraphicsGLRegisterImage) \
  L(cudaGraphicsMapResources) L(cudaGraphicsResourceGetMappedEglFrame) \
  L(cudaGraphicsResourceGetMappedMipmappedArray) L(cudaGraphicsResourceGetMappedPointer) \
  L(cudaGraphicsResourceSetMapFlags) L(cudaGraphicsSubResourceGetMappedArray) L(cudaGraphicsUnmapResources) \
  L(cudaGraphicsUnregisterResource) L(cudaGraphicsVDPAURegisterOutputSurface) \
  L(cudaGraphicsVDPAURegisterVideoSurface) L(cudaImportExternalMemory) L(cudaImportExternalSemaphore) \
  L(cudaIpcCloseMemHandle) L(cudaIpcGetEventHandle) L(cudaIpcGetMemHandle) L(cudaIpcOpenEventHandle) \
  L(cudaIpcOpenMemHandle) L(cudaKernelSetAttributeForDevice) L(cudaLaunchCooperativeKernelMultiDevice) \
  L(cudaLibraryEnumerateKernels) L(cudaLibraryGetGlobal) L(cudaLibraryGetKernel) L(cudaLibraryGetKernelCount) \
  L(cudaLibraryGetManaged) L(cudaLibraryGetUnifiedFunction) L(cudaLibraryLoadData) L(cudaLibraryLoadFromFile) \
  L(cudaLibraryUnload) L(cudaLogsCurrent) L(cudaLogsDumpToFile) L(cudaLogsDumpToMemory) \
  L(cudaLogsRegisterCallback) L(cudaLogsUnregisterCallback) L(cudaMemDiscardAndPrefetchBatchAsync) \
  L(cudaMemDiscardAndPrefetchBatchAsync_ptsz) L(cudaMemDiscardBatchAsync) L(cudaMemDiscardBatchAsync_ptsz) \
  L(cudaMemPoolExportPointer) L(cudaMemPoolExportToShareableHandle) L(cudaMemPoolImportFromShareableHandle) \
  L(cudaMemPoolImportPointer) L(cudaMemPrefetchBatchAsync) L(cudaMemPrefetchBatchAsync_ptsz) \
  L(cudaMemRangeGetAttribute) L(cudaMemRangeGetAttributes) L(cudaMemcpy3DBatchAsync) \
  L(cudaMemcpy3DBatchAsync_ptsz) L(cudaMemcpy3DPeer) L(cudaMemcpy3DPeerAsync) L(cudaMemcpy3DPeerAsync_ptsz) \
  L(cudaMemcpy3DPeer_ptds) L(cudaMemcpyArrayToArray) L(cudaMemcpyArrayToArray_ptds) L(cudaMemcpyBatchAsync) \
  L(cudaMemcpyBatchAsync_ptsz) L(cudaMipmappedArrayGetMemoryRequirements) \
  L(cudaMipmappedArrayGetSparseProperties) L(cudaOccupancyMaxActiveClusters) \
  L(cudaOccupancyMaxPotentialClusterSize) L(cudaProfilerInitialize) L(cudaSetDoubleForDevice) \
  L(cudaSetDoubleForHost) L(cudaSignalExternalSemaphoresAsync) L(cudaSignalExternalSemaphoresAsync_ptsz) \
  L(cudaSignalExternalSemaphoresAsync_v2) L(cudaSignalExternalSemaphoresAsync_v2_ptsz) L(cudaThreadGetCacheConfig) \
  L(cudaThreadGetLimit) L(cudaThreadSetCacheConfig) L(cudaThreadSetLimit) L(cudaUnbindTexture) L(cudaUserObjectCreate) \
  L(cudaUserObjectRelease) L(cudaUserObjectRetain) L(cudaVDPAUGetDevice) L(cudaVDPAUSetVDPAUDevice) \
  L(cudaWaitExternalSemaphoresAsync) L(cudaWaitExternalSemaphoresAsync_ptsz) \
  L(cudaWaitExternalSemaphoresAsync_v2) L(cudaWaitExternalSemaphoresAsync_v2_ptsz)

#define L(name) error_t_ name(void) { return lacking(#name); }
LACKING(L)
