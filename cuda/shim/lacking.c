/* Names of the runtime, versions 11 to 13, that are not built: each says its name and returns cudaErrorNotSupported. */
#include "shim.h"

#define LACKING(L) \
  L(__cudaGetProcAddress) L(__cudaRegisterHostVar) L(__cudaRegisterSurface) L(__cudaRegisterTexture) \
  L(__cudaRegisterUnifiedTable) L(cudaArrayGetMemoryRequirements) L(cudaArrayGetPlane) \
  L(cudaArrayGetSparseProperties) L(cudaBindSurfaceToArray) L(cudaBindTexture) L(cudaBindTexture2D) \
  L(cudaBindTextureToArray) L(cudaBindTextureToMipmappedArray) L(cudaCreateTextureObject_v2) \
  L(cudaDestroyExternalMemory) L(cudaDestroyExternalSemaphore) L(cudaDeviceDisablePeerAccess) \
  L(cudaDeviceEnablePeerAccess) L(cudaDeviceFlushGPUDirectRDMAWrites) L(cudaDeviceGetByPCIBusId) \
  L(cudaDeviceGetGraphMemAttribute) L(cudaDeviceGetHostAtomicCapabilities) L(cudaDeviceGetNvSciSyncAttributes) \
  L(cudaDeviceGetP2PAtomicCapabilities) L(cudaDeviceGetP2PAttribute) L(cudaDeviceGetTexture1DLinearMaxWidth) \
  L(cudaDeviceGraphMemTrim) L(cudaDeviceRegisterAsyncNotification) L(cudaDeviceSetGraphMemAttribute) \
  L(cudaDeviceUnregisterAsyncNotification) L(cudaEGLStreamConsumerAcquireFrame) L(cudaEGLStreamConsumerConnect) \
  L(cudaEGLStreamConsumerConnectWithFlags) L(cudaEGLStreamConsumerDisconnect) L(cudaEGLStreamConsumerReleaseFrame) \
  L(cudaEGLStreamProducerConnect) L(cudaEGLStreamProducerDisconnect) L(cudaEGLStreamProducerPresentFrame) \
  L(cudaEGLStreamProducerReturnFrame) L(cudaEventCreateFromEGLSync) L(cudaExternalMemoryGetMappedBuffer) \
  L(cudaExternalMemoryGetMappedMipmappedArray) L(cudaFuncGetParamInfo) L(cudaGLGetDevices) L(cudaGLMapBufferObject) \
  L(cudaGLMapBufferObjectAsync) L(cudaGLRegisterBufferObject) L(cudaGLSetBufferObjectMapFlags) L(cudaGLSetGLDevice) \
  L(cudaGLUnmapBufferObject) L(cudaGLUnmapBufferObjectAsync) L(cudaGLUnregisterBufferObject) \
  L(cudaGetDriverEntryPoint) L(cudaGetDriverEntryPointByVersion) L(cudaGetDriverEntryPointByVersion_ptsz) \
  L(cudaGetDriverEntryPoint_ptsz) L(cudaGetExportTable) L(cudaGetSurfaceObjectResourceDesc) \
  L(cudaGetSurfaceReference) L(cudaGetTextureAlignmentOffset) L(cudaGetTextureObjectResourceDesc) \
  L(cudaGetTextureObjectResourceViewDesc) L(cudaGetTextureObjectTextureDesc) L(cudaGetTextureObjectTextureDesc_v2) \
  L(cudaGetTextureReference) L(cudaGraphAddChildGraphNode) L(cudaGraphAddDependencies) \
  L(cudaGraphAddDependencies_v2) L(cudaGraphAddEmptyNode) L(cudaGraphAddEventRecordNode) \
  L(cudaGraphAddEventWaitNode) L(cudaGraphAddExternalSemaphoresSignalNode) L(cudaGraphAddExternalSemaphoresWaitNode) \
  L(cudaGraphAddHostNode) L(cudaGraphAddKernelNode) L(cudaGraphAddMemAllocNode) L(cudaGraphAddMemFreeNode) \
  L(cudaGraphAddMemcpyNode) L(cudaGraphAddMemcpyNode1D) L(cudaGraphAddMemcpyNodeFromSymbol) \
  L(cudaGraphAddMemcpyNodeToSymbol) L(cudaGraphAddMemsetNode) L(cudaGraphAddNode) L(cudaGraphAddNode_v2) \
  L(cudaGraphChildGraphNodeGetGraph) L(cudaGraphClone) L(cudaGraphConditionalHandleCreate) L(cudaGraphCreate) \
  L(cudaGraphDebugDotPrint) L(cudaGraphDestroy) L(cudaGraphDestroyNode) L(cudaGraphEventRecordNodeGetEvent) \
  L(cudaGraphEventRecordNodeSetEvent) L(cudaGraphEventWaitNodeGetEvent) L(cudaGraphEventWaitNodeSetEvent) \
  L(cudaGraphExecChildGraphNodeSetParams) L(cudaGraphExecDestroy) L(cudaGraphExecEventRecordNodeSetEvent) \
  L(cudaGraphExecEventWaitNodeSetEvent) L(cudaGraphExecExternalSemaphoresSignalNodeSetParams) \
  L(cudaGraphExecExternalSemaphoresWaitNodeSetParams) L(cudaGraphExecGetFlags) L(cudaGraphExecHostNodeSetParams) \
  L(cudaGraphExecKernelNodeSetParams) L(cudaGraphExecMemcpyNodeSetParams) L(cudaGraphExecMemcpyNodeSetParams1D) \
  L(cudaGraphExecMemcpyNodeSetParamsFromSymbol) L(cudaGraphExecMemcpyNodeSetParamsToSymbol) \
  L(cudaGraphExecMemsetNodeSetParams) L(cudaGraphExecNodeSetParams) L(cudaGraphExecUpdate) L(cudaGraphExecUpdate_v2) \
  L(cudaGraphExternalSemaphoresSignalNodeGetParams) L(cudaGraphExternalSemaphoresSignalNodeSetParams) \
  L(cudaGraphExternalSemaphoresWaitNodeGetParams) L(cudaGraphExternalSemaphoresWaitNodeSetParams) \
  L(cudaGraphGetEdges) L(cudaGraphGetNodes) L(cudaGraphGetRootNodes) L(cudaGraphHostNodeGetParams) \
  L(cudaGraphHostNodeSetParams) L(cudaGraphInstantiate) L(cudaGraphInstantiateWithFlags) \
  L(cudaGraphInstantiateWithParams) L(cudaGraphInstantiateWithParams_ptsz) L(cudaGraphInstantiate_v12000) \
  L(cudaGraphKernelNodeCopyAttributes) L(cudaGraphKernelNodeGetAttribute) L(cudaGraphKernelNodeGetParams) \
  L(cudaGraphKernelNodeGetParams_v2) L(cudaGraphKernelNodeSetAttribute) L(cudaGraphKernelNodeSetParams) \
  L(cudaGraphLaunch) L(cudaGraphLaunch_ptsz) L(cudaGraphMemAllocNodeGetParams) L(cudaGraphMemFreeNodeGetParams) \
  L(cudaGraphMemcpyNodeGetParams) L(cudaGraphMemcpyNodeSetParams) L(cudaGraphMemcpyNodeSetParams1D) \
  L(cudaGraphMemcpyNodeSetParamsFromSymbol) L(cudaGraphMemcpyNodeSetParamsToSymbol) L(cudaGraphMemsetNodeGetParams) \
  L(cudaGraphMemsetNodeSetParams) L(cudaGraphNodeFindInClone) L(cudaGraphNodeGetDependencies) \
  L(cudaGraphNodeGetDependentNodes) L(cudaGraphNodeGetEnabled) L(cudaGraphNodeGetType) L(cudaGraphNodeSetEnabled) \
  L(cudaGraphNodeSetParams) L(cudaGraphReleaseUserObject) L(cudaGraphRemoveDependencies) \
  L(cudaGraphRetainUserObject) L(cudaGraphUpload) L(cudaGraphUpload_ptsz) L(cudaGraphicsEGLRegisterImage) \
  L(cudaGraphicsGLRegisterBuffer) L(cudaGraphicsGLRegisterImage) L(cudaGraphicsMapResources) \
  L(cudaGraphicsResourceGetMappedEglFrame) L(cudaGraphicsResourceGetMappedMipmappedArray) \
  L(cudaGraphicsResourceGetMappedPointer) L(cudaGraphicsResourceSetMapFlags) \
  L(cudaGraphicsSubResourceGetMappedArray) L(cudaGraphicsUnmapResources) L(cudaGraphicsUnregisterResource) \
  L(cudaGraphicsVDPAURegisterOutputSurface) L(cudaGraphicsVDPAURegisterVideoSurface) L(cudaImportExternalMemory) \
  L(cudaImportExternalSemaphore) L(cudaIpcCloseMemHandle) L(cudaIpcGetEventHandle) L(cudaIpcGetMemHandle) \
  L(cudaIpcOpenEventHandle) L(cudaIpcOpenMemHandle) L(cudaKernelSetAttributeForDevice) \
  L(cudaLaunchCooperativeKernelMultiDevice) L(cudaLibraryEnumerateKernels) L(cudaLibraryGetGlobal) \
  L(cudaLibraryGetKernel) L(cudaLibraryGetKernelCount) L(cudaLibraryGetManaged) L(cudaLibraryGetUnifiedFunction) \
  L(cudaLibraryLoadData) L(cudaLibraryLoadFromFile) L(cudaLibraryUnload) L(cudaLogsCurrent) L(cudaLogsDumpToFile) \
  L(cudaLogsDumpToMemory) L(cudaLogsRegisterCallback) L(cudaLogsUnregisterCallback) \
  L(cudaMemDiscardAndPrefetchBatchAsync) L(cudaMemDiscardAndPrefetchBatchAsync_ptsz) L(cudaMemDiscardBatchAsync) \
  L(cudaMemDiscardBatchAsync_ptsz) L(cudaMemGetDefaultMemPool) L(cudaMemGetMemPool) L(cudaMemPoolCreate) \
  L(cudaMemPoolDestroy) L(cudaMemPoolExportPointer) L(cudaMemPoolExportToShareableHandle) L(cudaMemPoolGetAccess) \
  L(cudaMemPoolImportFromShareableHandle) L(cudaMemPoolImportPointer) L(cudaMemPoolSetAccess) \
  L(cudaMemPrefetchBatchAsync) L(cudaMemPrefetchBatchAsync_ptsz) L(cudaMemRangeGetAttribute) \
  L(cudaMemRangeGetAttributes) L(cudaMemSetMemPool) L(cudaMemcpy3DBatchAsync) L(cudaMemcpy3DBatchAsync_ptsz) \
  L(cudaMemcpy3DPeer) L(cudaMemcpy3DPeerAsync) L(cudaMemcpy3DPeerAsync_ptsz) L(cudaMemcpy3DPeer_ptds) \
  L(cudaMemcpyArrayToArray) L(cudaMemcpyArrayToArray_ptds) L(cudaMemcpyBatchAsync) L(cudaMemcpyBatchAsync_ptsz) \
  L(cudaMipmappedArrayGetMemoryRequirements) L(cudaMipmappedArrayGetSparseProperties) \
  L(cudaOccupancyMaxActiveClusters) L(cudaOccupancyMaxPotentialClusterSize) L(cudaProfilerInitialize) \
  L(cudaSetDoubleForDevice) L(cudaSetDoubleForHost) L(cudaSignalExternalSemaphoresAsync) \
  L(cudaSignalExternalSemaphoresAsync_ptsz) L(cudaSignalExternalSemaphoresAsync_v2) L(cudaStreamBeginCapture) \
  L(cudaStreamBeginCaptureToGraph) L(cudaStreamBeginCaptureToGraph_ptsz) L(cudaStreamBeginCapture_ptsz) \
  L(cudaStreamEndCapture) L(cudaStreamEndCapture_ptsz) L(cudaStreamGetAttribute) L(cudaStreamGetAttribute_ptsz) \
  L(cudaStreamGetCaptureInfo) L(cudaStreamGetCaptureInfo_ptsz) L(cudaStreamGetCaptureInfo_v2) \
  L(cudaStreamGetCaptureInfo_v2_ptsz) L(cudaStreamGetCaptureInfo_v3) L(cudaStreamUpdateCaptureDependencies) \
  L(cudaStreamUpdateCaptureDependencies_ptsz) L(cudaThreadExchangeStreamCaptureMode) L(cudaThreadGetCacheConfig) \
  L(cudaThreadGetLimit) L(cudaThreadSetCacheConfig) L(cudaThreadSetLimit) L(cudaUnbindTexture) \
  L(cudaUserObjectCreate) L(cudaUserObjectRelease) L(cudaUserObjectRetain) L(cudaVDPAUGetDevice) \
  L(cudaVDPAUSetVDPAUDevice) L(cudaWaitExternalSemaphoresAsync) L(cudaWaitExternalSemaphoresAsync_ptsz) \
  L(cudaWaitExternalSemaphoresAsync_v2)

#define L(name) error_t_ name(void) { return lacking(#name); }
LACKING(L)
