"""Lists MLIR's names of the passes that Triton's backends add: {function: (name, argument)}, of any release.
Written by tools/pass_names.py."""

# ruff: noqa: E501
# A module of the bindings, then a row for each of its functions: function, name, argument.
_TABLE = """
amd.passes.ttgpuir
    add_accelerate_matmul TritonAMDGPUAccelerateMatmul tritonamdgpu-accelerate-matmul
    add_allocate_shared_memory AllocateAMDGPUSharedMemory allocate-amdgpu-shared-memory
    add_block_pingpong TritonAMDGPUBlockPingpong tritonamdgpu-block-pingpong
    add_builtin_func_to_llvmir ConvertBuiltinFuncToLLVM convert-builtin-func-to-llvm
    add_canonicalize_pointers TritonAMDGPUCanonicalizePointers tritonamdgpu-canonicalize-pointers
    add_coalesce_async_copy TritonAMDGPUCoalesceAsyncCopy tritonamdgpu-coalesce-async-copy
    add_convert_to_buffer_ops TritonAMDGPUConvertToBufferOps tritonamdgpu-convert-buffer-ops
    add_convert_to_tensor_ops TritonAMDGPUConvertToTensorOps tritonamdgpu-convert-tensor-ops
    add_decompose_unsupported_conversions DecomposeUnsupportedAMDConversions decompose-unsupported-amd-conversions
    add_fold_true_cmpi TritonAMDFoldTrueCmpI tritonamdgpu-fold-true-cmpi
    add_fp_sanitizer TritonAMDGPUFpSanitizer tritonamdgpu-fp-sanitizer
    add_hoist_layout_conversions TritonAMDGPUHoistLayoutConversions tritonamdgpu-hoist-layout-conversions
    add_in_thread_transpose TritonAMDGPUInThreadTranspose tritonamdgpu-in-thread-transpose
    add_membar TritonAMDGPUMembar triton-amdgpu-membar
    add_move_up_prologue_loads TritonAMDGPUMoveUpPrologueLoads tritonamdgpu-move-up-prologue-loads
    add_optimize_buffer_op_ptr TritonAMDGPUOptimizeBufferOpPtr tritonamdgpu-optimize-buffer-op-ptr
    add_optimize_descriptor_encoding TritonAMDGPUOptimizeDescriptorEncoding tritonamdgpu-optimize-descriptor-encoding
    add_optimize_dot_operands TritonAMDGPUOptimizeDotOperands tritonamdgpu-optimize-dot-operands
    add_optimize_epilogue TritonAMDGPUOptimizeEpilogue tritonamdgpu-optimize-epilogue
    add_optimize_lds_usage OptimizeAMDLDSUsage optimize-amd-lds-usage
    add_pipeline TritonAMDGPUPipeline tritonamdgpu-pipeline
    add_prepare_consan_captures TritonInstrumentPrepareConSanCaptures tritoninstrument-prepare-consan-captures
    add_prepare_if_combining TritonAMDGPUPrepareIfCombining tritonamdgpu-prepare-if-combining
    add_reorder_instructions TritonAMDGPUReorderInstructions tritonamdgpu-reorder-instructions
    add_schedule_loops TritonAMDGPUScheduleLoops tritonamdgpu-schedule-loops
    add_sink_layout_conversions TritonAMDGPUSinkLayoutConversions tritonamdgpu-sink-layout-conversions
    add_stream_pipeline TritonAMDGPUStreamPipeline tritonamdgpu-stream-pipeline
    add_stream_pipelinev2 TritonAMDGPUStreamPipelineV2 tritonamdgpu-stream-pipeline-v2
    add_to_llvmir ConvertTritonAMDGPUToLLVM convert-triton-amdgpu-to-llvm
    add_update_async_wait_count TritonAMDGPUUpdateAsyncWaitCount tritonamdgpu-update-async-wait-count
    add_warp_pipeline TritonAMDGPUWarpPipeline tritonamdgpu-warp-pipeline
    add_warp_pipeline_conversion ConvertWarpPipeline convert-warp-pipeline
    add_warp_specialize_to_llvm TritonAMDGPUConvertWarpSpecializeToLLVM triton-amdgpu-convert-warp-specialize-to-llvm
nvidia.passes.hopper
    add_hopper_warpspec NVGPUWarpSpecialization nvgpu-warp-specialization
nvidia.passes.nvws
    add_assign_stage_phase NVWSAssignStagePhase nvws-assign-stage-phase
    add_insert_tmem_aref NVWSInsertTmemAref nvws-insert-tmem-aref
    add_lower_aref NVWSLowerAref nvws-lower-aref
    add_lower_warp_group NVWSLowerWarpGroup nvws-lower-warp-group
nvidia.passes.ttgpuir
    add_allocate_shared_memory_nv AllocateSharedMemoryNv allocate-shared-memory-nv
    add_decompose_unsupported_conversions DecomposeUnsupportedNVIDIAConversions decompose-unsupported-nvidia-conversions
    add_membar TritonNvidiaGPUMembar triton-nvidia-gpu-membar
    add_set_minimum_shared_memory SetMinimumSharedMemory set-minimum-shared-memory
    add_to_llvmir ConvertTritonGPUToLLVM convert-triton-gpu-to-llvm
nvidia.passes.ttnvgpuir
    add_allocate_tensor_memory TritonTensorMemoryAllocationPass triton-tensor-memory-allocation
    add_assign_cga_layouts TritonNvidiaGPUAssignCGALayoutsPass triton-nvidia-gpu-assign-cga-layouts
    add_check_matmul_two_cta TritonNvidiaGPUCheckMatmulTwoCTAPass triton-nvidia-check-matmul-two-cta
    add_cluster_barrier_mbar_allocator TritonNvidiaGPUClusterBarrierMbarAllocatorPass triton-nvidia-gpu-cluster-barrier-mbar-allocator
    add_fence_insertion TritonGPUFenceInsertion triton-nvidia-gpu-fence-insertion
    add_hoist_mbarrier_lifecycle TritonNvidiaGPUHoistMBarrierLifecyclePass triton-nvidia-gpu-hoist-mbarrier-lifecycle
    add_initialize_ws_cluster_barriers InitializeWSClusterBarriers initialize-ws-cluster-barriers
    add_interleave_tmem TritonNvidiaGPUInterleaveTMemPass triton-nvidia-interleave-tmem
    add_keep_acc_in_tmem TritonNvidiaGPUKeepAccInTMemPass tritongpu-keep-acc-in-tmem
    add_lower_clc TritonNvidiaGPULowerCLCPass triton-nvidia-gpu-lower-clc
    add_lower_mma TritonNvidiaGPUMMALoweringPass triton-nvidia-mma-lowering
    add_nvgpu_to_llvm ConvertNVGPUToLLVM convert-nv-gpu-to-llvm
    add_optimize_cta_locality TritonNvidiaGPUOptimizeCTALocalityPass triton-nvidia-gpu-optimize-cta-locality
    add_optimize_descriptor_encoding TritonNvidiaGPUOptimizeDescriptorEncodingPass triton-nvidia-optimize-descriptor-encoding
    add_optimize_tmem_layouts TritonNvidiaGPUOptimizeTMemLayoutsPass triton-nvidia-optimize-tmem-layouts
    add_plan_cta TritonGPUPlanCTAPass triton-nvidia-gpu-plan-cta
    add_promote_lhs_to_tmem TritonNvidiaGPUPromoteLHSToTMemPass tritongpu-promote-lhs-to-tmem
    add_proxy_fence_insertion TritonGPUProxyFenceInsertion triton-nvidia-gpu-proxy-fence-insertion
    add_remove_tmem_tokens TritonNvidiaGPURemoveTMEMTokensPass triton-nvidia-gpu-remove-tmem-tokens
    add_tma_lowering TritonNvidiaGPUTMALoweringPass triton-nvidia-tma-lowering
    add_tmem_barrier_insertion TritonNvidiaGPUTMemBarrierInsertionPass triton-nvidia-gpu-tmem-barrier-insertion
    add_tmem_load_reduce TritonNvidiaGPUFuseTMEMLoadReducePass triton-nvidia-tmem-load-reduce
    add_tmem_wait_insertion TritonNvidiaGPUTMemWaitInsertionPass triton-nvidia-gpu-tmem-wait-insertion
    add_to_clc TritonNvidiaGPUToCLCPass triton-nvidia-gpu-to-clc
    add_warp_specialize_to_llvm ConvertWarpSpecializeToLLVM convert-warp-specialize-to-llvm
passes.common
    add_canonicalizer CanonicalizerPass canonicalize
    add_cse CSEPass cse
    add_inliner InlinerPass inline
    add_licm LoopInvariantCodeMotionPass loop-invariant-code-motion
    add_sccp SCCPPass sccp
    add_symbol_dce SymbolDCEPass symbol-dce
passes.convert
    add_arith_to_llvmir ArithToLLVMConversionPass convert-arith-to-llvm
    add_cf_to_llvmir ConvertControlFlowToLLVMPass convert-cf-to-llvm
    add_index_to_llvmir ConvertIndexToLLVMPass convert-index-to-llvm
    add_nvvm_to_llvm ConvertNVVMToLLVMPass convert-nvvm-to-llvm
    add_reconcile_unrealized_casts ReconcileUnrealizedCastsPass reconcile-unrealized-casts
    add_scf_to_cf SCFToControlFlowPass convert-scf-to-cf
passes.gluon
    add_canonicalizer GluonCanonicalize gluon-canonicalize
    add_infer_coalesced_encodings GluonInferCoalescedEncodingsPass gluon-infer-coalesced-encodings
    add_inliner GluonInline gluon-inline
    add_resolve_auto_encodings GluonResolveAutoEncodingsPass gluon-resolve-auto-encodings
passes.llvmir
    add_di_local_variable LLVMDILocalVariable extract-variable-info
    add_di_scope LLVMDIScope enable-line-info
passes.ttgpuir
    add_accelerate_matmul TritonGPUAccelerateMatmul tritongpu-accelerate-matmul
    add_allocate_global_scratch_memory TritonGPUGlobalScratchAllocationPass tritongpu-global-scratch-memory-allocation
    add_allocate_shared_memory AllocateSharedMemory allocate-shared-memory
    add_allocate_warp_groups TritonGPUAllocateWarpGroups tritongpu-allocate-warp-groups
    add_assign_latencies TritonGPUAssignLatencies tritongpu-assign-latencies
    add_canonicalize_llvm_ir CanonicalizeLLVMIR canonicalize-llvm-ir
    add_canonicalizer TritonGPUCanonicalize tritongpu-canonicalize
    add_coalesce TritonGPUCoalesce tritongpu-coalesce
    add_coalesce_async_copy TritonGPUCoalesceAsyncCopy tritongpu-coalesce-async-copy
    add_combine_tensor_select_and_if TritonGPUCombineTensorSelectAndIf tritongpu-combine-tensor-select-and-if
    add_concurrency_sanitizer TritonInstrumentConcurrencySanitizer tritoninstrument-concurrency-sanitizer
    add_f32_dot_tc TritonGPUF32DotTC tritongpu-F32DotTC
    add_fp_sanitizer TritonInstrumentFpSanitizer tritoninstrument-fp-sanitizer
    add_fuse_nested_loops TritonGPUFuseNestedLoops tritongpu-fuse-nested-loops
    add_global_sanitizer TritonInstrumentGlobalSanitizer tritoninstrument-global-sanitizer
    add_hoist_tmem_alloc TritonGPUHoistTMEMAlloc tritongpu-hoist-tmem-alloc
    add_inliner Inliner inline
    add_optimize_accumulator_init TritonGPUOptimizeAccumulatorInit tritongpu-optimize-accumulator-init
    add_optimize_dot_operands TritonGPUOptimizeDotOperands tritongpu-optimize-dot-operands
    add_optimize_partition_warps TritonGPUOptimizePartitionWarps tritongpu-optimize-partition-warps
    add_optimize_thread_locality TritonGPUOptimizeThreadLocality tritongpu-optimize-thread-locality
    add_ping_pong_sync TritonGPUPingPongSync tritongpu-ping-pong-sync
    add_pipeline TritonGPUPipeline tritongpu-pipeline
    add_prefetch TritonGPUPrefetch tritongpu-prefetch
    add_prepare_consan_captures TritonInstrumentPrepareConSanCaptures tritoninstrument-prepare-consan-captures
    add_reduce_data_duplication TritonGPUReduceDataDuplication tritongpu-reduce-data-duplication
    add_remove_layout_conversions TritonGPURemoveLayoutConversions tritongpu-remove-layout-conversions
    add_reorder_instructions TritonGPUReorderInstructions tritongpu-reorder-instructions
    add_schedule_loops TritonGPUScheduleLoops tritongpu-schedule-loops
    add_taskid_propagate TritonGPUTaskIdPropagate triton-gpu-taskid-propagate
    add_warp_specialize TritonGPUAutomaticWarpSpecialization tritongpu-automatic-warp-specialization
    add_ws_canonicalization TritonGPUWSCanonicalization tritongpu-warp-spec-canonicalization
    add_ws_code_partition TritonGPUWSCodePartition tritongpu-warp-spec-code-partition
    add_ws_data_partition TritonGPUWSDataPartition tritongpu-warp-spec-data-partition
    add_ws_lowering TritonGPUWSLowering tritongpu-warp-spec-lowering
    add_ws_task_partition TritonGPUWSTaskPartition tritongpu-warp-spec-task-partition
passes.ttir
    add_combine TritonCombineOps triton-combine
    add_convert_to_ttgpuir ConvertTritonToTritonGPU convert-triton-to-tritongpu
    add_loop_aware_cse TritonLoopAwareCSE triton-loop-aware-cse
    add_loop_unroll TritonLoopUnroll triton-loop-unroll
    add_reorder_broadcast TritonReorderBroadcast triton-reorder-broadcast
    add_rewrite_tensor_descriptor_to_pointer TritonRewriteTensorDescriptorToPointer triton-rewrite-tensor-descriptor-to-pointer
    add_rewrite_tensor_pointer TritonRewriteTensorPointer triton-rewrite-tensor-pointer
    add_triton_licm TritonLoopInvariantCodeMotion triton-licm
"""


def _names() -> dict[str, tuple[str, str]]:
    result, module = {}, ""
    for row in _TABLE.strip().splitlines():
        if not row.startswith(" "):
            module = row
        else:
            function, name, argument = row.split()
            result[f"{module}.{function}"] = (name, argument)
    return result


NAMES = _names()
