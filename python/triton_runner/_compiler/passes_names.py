"""What MLIR calls the passes that Triton's backends add: {function: (name, argument)}, of any
release. Written by tools/pass_names.py."""

NAMES = {
    "amd.passes.ttgpuir.add_accelerate_matmul": (
        "TritonAMDGPUAccelerateMatmul",
        "tritonamdgpu-accelerate-matmul",
    ),
    "amd.passes.ttgpuir.add_allocate_shared_memory": (
        "AllocateAMDGPUSharedMemory",
        "allocate-amdgpu-shared-memory",
    ),
    "amd.passes.ttgpuir.add_block_pingpong": ("TritonAMDGPUBlockPingpong", "tritonamdgpu-block-pingpong"),
    "amd.passes.ttgpuir.add_builtin_func_to_llvmir": (
        "ConvertBuiltinFuncToLLVM",
        "convert-builtin-func-to-llvm",
    ),
    "amd.passes.ttgpuir.add_canonicalize_pointers": (
        "TritonAMDGPUCanonicalizePointers",
        "tritonamdgpu-canonicalize-pointers",
    ),
    "amd.passes.ttgpuir.add_coalesce_async_copy": (
        "TritonAMDGPUCoalesceAsyncCopy",
        "tritonamdgpu-coalesce-async-copy",
    ),
    "amd.passes.ttgpuir.add_convert_to_buffer_ops": (
        "TritonAMDGPUConvertToBufferOps",
        "tritonamdgpu-convert-buffer-ops",
    ),
    "amd.passes.ttgpuir.add_convert_to_tensor_ops": (
        "TritonAMDGPUConvertToTensorOps",
        "tritonamdgpu-convert-tensor-ops",
    ),
    "amd.passes.ttgpuir.add_decompose_unsupported_conversions": (
        "DecomposeUnsupportedAMDConversions",
        "decompose-unsupported-amd-conversions",
    ),
    "amd.passes.ttgpuir.add_fold_true_cmpi": ("TritonAMDFoldTrueCmpI", "tritonamdgpu-fold-true-cmpi"),
    "amd.passes.ttgpuir.add_fp_sanitizer": ("TritonAMDGPUFpSanitizer", "tritonamdgpu-fp-sanitizer"),
    "amd.passes.ttgpuir.add_hoist_layout_conversions": (
        "TritonAMDGPUHoistLayoutConversions",
        "tritonamdgpu-hoist-layout-conversions",
    ),
    "amd.passes.ttgpuir.add_in_thread_transpose": (
        "TritonAMDGPUInThreadTranspose",
        "tritonamdgpu-in-thread-transpose",
    ),
    "amd.passes.ttgpuir.add_membar": ("TritonAMDGPUMembar", "triton-amdgpu-membar"),
    "amd.passes.ttgpuir.add_move_up_prologue_loads": (
        "TritonAMDGPUMoveUpPrologueLoads",
        "tritonamdgpu-move-up-prologue-loads",
    ),
    "amd.passes.ttgpuir.add_optimize_buffer_op_ptr": (
        "TritonAMDGPUOptimizeBufferOpPtr",
        "tritonamdgpu-optimize-buffer-op-ptr",
    ),
    "amd.passes.ttgpuir.add_optimize_descriptor_encoding": (
        "TritonAMDGPUOptimizeDescriptorEncoding",
        "tritonamdgpu-optimize-descriptor-encoding",
    ),
    "amd.passes.ttgpuir.add_optimize_dot_operands": (
        "TritonAMDGPUOptimizeDotOperands",
        "tritonamdgpu-optimize-dot-operands",
    ),
    "amd.passes.ttgpuir.add_optimize_epilogue": (
        "TritonAMDGPUOptimizeEpilogue",
        "tritonamdgpu-optimize-epilogue",
    ),
    "amd.passes.ttgpuir.add_optimize_lds_usage": ("OptimizeAMDLDSUsage", "optimize-amd-lds-usage"),
    "amd.passes.ttgpuir.add_pipeline": ("TritonAMDGPUPipeline", "tritonamdgpu-pipeline"),
    "amd.passes.ttgpuir.add_prepare_consan_captures": (
        "TritonInstrumentPrepareConSanCaptures",
        "tritoninstrument-prepare-consan-captures",
    ),
    "amd.passes.ttgpuir.add_prepare_if_combining": (
        "TritonAMDGPUPrepareIfCombining",
        "tritonamdgpu-prepare-if-combining",
    ),
    "amd.passes.ttgpuir.add_reorder_instructions": (
        "TritonAMDGPUReorderInstructions",
        "tritonamdgpu-reorder-instructions",
    ),
    "amd.passes.ttgpuir.add_schedule_loops": ("TritonAMDGPUScheduleLoops", "tritonamdgpu-schedule-loops"),
    "amd.passes.ttgpuir.add_sink_layout_conversions": (
        "TritonAMDGPUSinkLayoutConversions",
        "tritonamdgpu-sink-layout-conversions",
    ),
    "amd.passes.ttgpuir.add_stream_pipeline": ("TritonAMDGPUStreamPipeline", "tritonamdgpu-stream-pipeline"),
    "amd.passes.ttgpuir.add_stream_pipelinev2": (
        "TritonAMDGPUStreamPipelineV2",
        "tritonamdgpu-stream-pipeline-v2",
    ),
    "amd.passes.ttgpuir.add_to_llvmir": ("ConvertTritonAMDGPUToLLVM", "convert-triton-amdgpu-to-llvm"),
    "amd.passes.ttgpuir.add_update_async_wait_count": (
        "TritonAMDGPUUpdateAsyncWaitCount",
        "tritonamdgpu-update-async-wait-count",
    ),
    "amd.passes.ttgpuir.add_warp_pipeline": ("TritonAMDGPUWarpPipeline", "tritonamdgpu-warp-pipeline"),
    "amd.passes.ttgpuir.add_warp_pipeline_conversion": ("ConvertWarpPipeline", "convert-warp-pipeline"),
    "amd.passes.ttgpuir.add_warp_specialize_to_llvm": (
        "TritonAMDGPUConvertWarpSpecializeToLLVM",
        "triton-amdgpu-convert-warp-specialize-to-llvm",
    ),
    "nvidia.passes.hopper.add_hopper_warpspec": ("NVGPUWarpSpecialization", "nvgpu-warp-specialization"),
    "nvidia.passes.nvws.add_assign_stage_phase": ("NVWSAssignStagePhase", "nvws-assign-stage-phase"),
    "nvidia.passes.nvws.add_insert_tmem_aref": ("NVWSInsertTmemAref", "nvws-insert-tmem-aref"),
    "nvidia.passes.nvws.add_lower_aref": ("NVWSLowerAref", "nvws-lower-aref"),
    "nvidia.passes.nvws.add_lower_warp_group": ("NVWSLowerWarpGroup", "nvws-lower-warp-group"),
    "nvidia.passes.ttgpuir.add_allocate_shared_memory_nv": (
        "AllocateSharedMemoryNv",
        "allocate-shared-memory-nv",
    ),
    "nvidia.passes.ttgpuir.add_decompose_unsupported_conversions": (
        "DecomposeUnsupportedNVIDIAConversions",
        "decompose-unsupported-nvidia-conversions",
    ),
    "nvidia.passes.ttgpuir.add_membar": ("TritonNvidiaGPUMembar", "triton-nvidia-gpu-membar"),
    "nvidia.passes.ttgpuir.add_set_minimum_shared_memory": (
        "SetMinimumSharedMemory",
        "set-minimum-shared-memory",
    ),
    "nvidia.passes.ttgpuir.add_to_llvmir": ("ConvertTritonGPUToLLVM", "convert-triton-gpu-to-llvm"),
    "nvidia.passes.ttnvgpuir.add_allocate_tensor_memory": (
        "TritonTensorMemoryAllocationPass",
        "triton-tensor-memory-allocation",
    ),
    "nvidia.passes.ttnvgpuir.add_assign_cga_layouts": (
        "TritonNvidiaGPUAssignCGALayoutsPass",
        "triton-nvidia-gpu-assign-cga-layouts",
    ),
    "nvidia.passes.ttnvgpuir.add_check_matmul_two_cta": (
        "TritonNvidiaGPUCheckMatmulTwoCTAPass",
        "triton-nvidia-check-matmul-two-cta",
    ),
    "nvidia.passes.ttnvgpuir.add_cluster_barrier_mbar_allocator": (
        "TritonNvidiaGPUClusterBarrierMbarAllocatorPass",
        "triton-nvidia-gpu-cluster-barrier-mbar-allocator",
    ),
    "nvidia.passes.ttnvgpuir.add_fence_insertion": (
        "TritonGPUFenceInsertion",
        "triton-nvidia-gpu-fence-insertion",
    ),
    "nvidia.passes.ttnvgpuir.add_hoist_mbarrier_lifecycle": (
        "TritonNvidiaGPUHoistMBarrierLifecyclePass",
        "triton-nvidia-gpu-hoist-mbarrier-lifecycle",
    ),
    "nvidia.passes.ttnvgpuir.add_initialize_ws_cluster_barriers": (
        "InitializeWSClusterBarriers",
        "initialize-ws-cluster-barriers",
    ),
    "nvidia.passes.ttnvgpuir.add_interleave_tmem": (
        "TritonNvidiaGPUInterleaveTMemPass",
        "triton-nvidia-interleave-tmem",
    ),
    "nvidia.passes.ttnvgpuir.add_keep_acc_in_tmem": (
        "TritonNvidiaGPUKeepAccInTMemPass",
        "tritongpu-keep-acc-in-tmem",
    ),
    "nvidia.passes.ttnvgpuir.add_lower_clc": ("TritonNvidiaGPULowerCLCPass", "triton-nvidia-gpu-lower-clc"),
    "nvidia.passes.ttnvgpuir.add_lower_mma": ("TritonNvidiaGPUMMALoweringPass", "triton-nvidia-mma-lowering"),
    "nvidia.passes.ttnvgpuir.add_nvgpu_to_llvm": ("ConvertNVGPUToLLVM", "convert-nv-gpu-to-llvm"),
    "nvidia.passes.ttnvgpuir.add_optimize_cta_locality": (
        "TritonNvidiaGPUOptimizeCTALocalityPass",
        "triton-nvidia-gpu-optimize-cta-locality",
    ),
    "nvidia.passes.ttnvgpuir.add_optimize_descriptor_encoding": (
        "TritonNvidiaGPUOptimizeDescriptorEncodingPass",
        "triton-nvidia-optimize-descriptor-encoding",
    ),
    "nvidia.passes.ttnvgpuir.add_optimize_tmem_layouts": (
        "TritonNvidiaGPUOptimizeTMemLayoutsPass",
        "triton-nvidia-optimize-tmem-layouts",
    ),
    "nvidia.passes.ttnvgpuir.add_plan_cta": ("TritonGPUPlanCTAPass", "triton-nvidia-gpu-plan-cta"),
    "nvidia.passes.ttnvgpuir.add_promote_lhs_to_tmem": (
        "TritonNvidiaGPUPromoteLHSToTMemPass",
        "tritongpu-promote-lhs-to-tmem",
    ),
    "nvidia.passes.ttnvgpuir.add_proxy_fence_insertion": (
        "TritonGPUProxyFenceInsertion",
        "triton-nvidia-gpu-proxy-fence-insertion",
    ),
    "nvidia.passes.ttnvgpuir.add_remove_tmem_tokens": (
        "TritonNvidiaGPURemoveTMEMTokensPass",
        "triton-nvidia-gpu-remove-tmem-tokens",
    ),
    "nvidia.passes.ttnvgpuir.add_tma_lowering": (
        "TritonNvidiaGPUTMALoweringPass",
        "triton-nvidia-tma-lowering",
    ),
    "nvidia.passes.ttnvgpuir.add_tmem_barrier_insertion": (
        "TritonNvidiaGPUTMemBarrierInsertionPass",
        "triton-nvidia-gpu-tmem-barrier-insertion",
    ),
    "nvidia.passes.ttnvgpuir.add_tmem_load_reduce": (
        "TritonNvidiaGPUFuseTMEMLoadReducePass",
        "triton-nvidia-tmem-load-reduce",
    ),
    "nvidia.passes.ttnvgpuir.add_tmem_wait_insertion": (
        "TritonNvidiaGPUTMemWaitInsertionPass",
        "triton-nvidia-gpu-tmem-wait-insertion",
    ),
    "nvidia.passes.ttnvgpuir.add_to_clc": ("TritonNvidiaGPUToCLCPass", "triton-nvidia-gpu-to-clc"),
    "nvidia.passes.ttnvgpuir.add_warp_specialize_to_llvm": (
        "ConvertWarpSpecializeToLLVM",
        "convert-warp-specialize-to-llvm",
    ),
    "passes.common.add_canonicalizer": ("CanonicalizerPass", "canonicalize"),
    "passes.common.add_cse": ("CSEPass", "cse"),
    "passes.common.add_inliner": ("InlinerPass", "inline"),
    "passes.common.add_licm": ("LoopInvariantCodeMotionPass", "loop-invariant-code-motion"),
    "passes.common.add_sccp": ("SCCPPass", "sccp"),
    "passes.common.add_symbol_dce": ("SymbolDCEPass", "symbol-dce"),
    "passes.convert.add_arith_to_llvmir": ("ArithToLLVMConversionPass", "convert-arith-to-llvm"),
    "passes.convert.add_cf_to_llvmir": ("ConvertControlFlowToLLVMPass", "convert-cf-to-llvm"),
    "passes.convert.add_index_to_llvmir": ("ConvertIndexToLLVMPass", "convert-index-to-llvm"),
    "passes.convert.add_nvvm_to_llvm": ("ConvertNVVMToLLVMPass", "convert-nvvm-to-llvm"),
    "passes.convert.add_reconcile_unrealized_casts": (
        "ReconcileUnrealizedCastsPass",
        "reconcile-unrealized-casts",
    ),
    "passes.convert.add_scf_to_cf": ("SCFToControlFlowPass", "convert-scf-to-cf"),
    "passes.gluon.add_canonicalizer": ("GluonCanonicalize", "gluon-canonicalize"),
    "passes.gluon.add_infer_coalesced_encodings": (
        "GluonInferCoalescedEncodingsPass",
        "gluon-infer-coalesced-encodings",
    ),
    "passes.gluon.add_inliner": ("GluonInline", "gluon-inline"),
    "passes.gluon.add_resolve_auto_encodings": (
        "GluonResolveAutoEncodingsPass",
        "gluon-resolve-auto-encodings",
    ),
    "passes.llvmir.add_di_local_variable": ("LLVMDILocalVariable", "extract-variable-info"),
    "passes.llvmir.add_di_scope": ("LLVMDIScope", "enable-line-info"),
    "passes.ttgpuir.add_accelerate_matmul": ("TritonGPUAccelerateMatmul", "tritongpu-accelerate-matmul"),
    "passes.ttgpuir.add_allocate_global_scratch_memory": (
        "TritonGPUGlobalScratchAllocationPass",
        "tritongpu-global-scratch-memory-allocation",
    ),
    "passes.ttgpuir.add_allocate_shared_memory": ("AllocateSharedMemory", "allocate-shared-memory"),
    "passes.ttgpuir.add_allocate_warp_groups": (
        "TritonGPUAllocateWarpGroups",
        "tritongpu-allocate-warp-groups",
    ),
    "passes.ttgpuir.add_assign_latencies": ("TritonGPUAssignLatencies", "tritongpu-assign-latencies"),
    "passes.ttgpuir.add_canonicalize_llvm_ir": ("CanonicalizeLLVMIR", "canonicalize-llvm-ir"),
    "passes.ttgpuir.add_canonicalizer": ("TritonGPUCanonicalize", "tritongpu-canonicalize"),
    "passes.ttgpuir.add_coalesce": ("TritonGPUCoalesce", "tritongpu-coalesce"),
    "passes.ttgpuir.add_coalesce_async_copy": ("TritonGPUCoalesceAsyncCopy", "tritongpu-coalesce-async-copy"),
    "passes.ttgpuir.add_combine_tensor_select_and_if": (
        "TritonGPUCombineTensorSelectAndIf",
        "tritongpu-combine-tensor-select-and-if",
    ),
    "passes.ttgpuir.add_concurrency_sanitizer": (
        "TritonInstrumentConcurrencySanitizer",
        "tritoninstrument-concurrency-sanitizer",
    ),
    "passes.ttgpuir.add_f32_dot_tc": ("TritonGPUF32DotTC", "tritongpu-F32DotTC"),
    "passes.ttgpuir.add_fp_sanitizer": ("TritonInstrumentFpSanitizer", "tritoninstrument-fp-sanitizer"),
    "passes.ttgpuir.add_fuse_nested_loops": ("TritonGPUFuseNestedLoops", "tritongpu-fuse-nested-loops"),
    "passes.ttgpuir.add_global_sanitizer": (
        "TritonInstrumentGlobalSanitizer",
        "tritoninstrument-global-sanitizer",
    ),
    "passes.ttgpuir.add_hoist_tmem_alloc": ("TritonGPUHoistTMEMAlloc", "tritongpu-hoist-tmem-alloc"),
    "passes.ttgpuir.add_inliner": ("Inliner", "inline"),
    "passes.ttgpuir.add_optimize_accumulator_init": (
        "TritonGPUOptimizeAccumulatorInit",
        "tritongpu-optimize-accumulator-init",
    ),
    "passes.ttgpuir.add_optimize_dot_operands": (
        "TritonGPUOptimizeDotOperands",
        "tritongpu-optimize-dot-operands",
    ),
    "passes.ttgpuir.add_optimize_partition_warps": (
        "TritonGPUOptimizePartitionWarps",
        "tritongpu-optimize-partition-warps",
    ),
    "passes.ttgpuir.add_optimize_thread_locality": (
        "TritonGPUOptimizeThreadLocality",
        "tritongpu-optimize-thread-locality",
    ),
    "passes.ttgpuir.add_ping_pong_sync": ("TritonGPUPingPongSync", "tritongpu-ping-pong-sync"),
    "passes.ttgpuir.add_pipeline": ("TritonGPUPipeline", "tritongpu-pipeline"),
    "passes.ttgpuir.add_prefetch": ("TritonGPUPrefetch", "tritongpu-prefetch"),
    "passes.ttgpuir.add_prepare_consan_captures": (
        "TritonInstrumentPrepareConSanCaptures",
        "tritoninstrument-prepare-consan-captures",
    ),
    "passes.ttgpuir.add_reduce_data_duplication": (
        "TritonGPUReduceDataDuplication",
        "tritongpu-reduce-data-duplication",
    ),
    "passes.ttgpuir.add_remove_layout_conversions": (
        "TritonGPURemoveLayoutConversions",
        "tritongpu-remove-layout-conversions",
    ),
    "passes.ttgpuir.add_reorder_instructions": (
        "TritonGPUReorderInstructions",
        "tritongpu-reorder-instructions",
    ),
    "passes.ttgpuir.add_schedule_loops": ("TritonGPUScheduleLoops", "tritongpu-schedule-loops"),
    "passes.ttgpuir.add_taskid_propagate": ("TritonGPUTaskIdPropagate", "triton-gpu-taskid-propagate"),
    "passes.ttgpuir.add_warp_specialize": (
        "TritonGPUAutomaticWarpSpecialization",
        "tritongpu-automatic-warp-specialization",
    ),
    "passes.ttgpuir.add_ws_canonicalization": (
        "TritonGPUWSCanonicalization",
        "tritongpu-warp-spec-canonicalization",
    ),
    "passes.ttgpuir.add_ws_code_partition": (
        "TritonGPUWSCodePartition",
        "tritongpu-warp-spec-code-partition",
    ),
    "passes.ttgpuir.add_ws_data_partition": (
        "TritonGPUWSDataPartition",
        "tritongpu-warp-spec-data-partition",
    ),
    "passes.ttgpuir.add_ws_lowering": ("TritonGPUWSLowering", "tritongpu-warp-spec-lowering"),
    "passes.ttgpuir.add_ws_task_partition": (
        "TritonGPUWSTaskPartition",
        "tritongpu-warp-spec-task-partition",
    ),
    "passes.ttir.add_combine": ("TritonCombineOps", "triton-combine"),
    "passes.ttir.add_convert_to_ttgpuir": ("ConvertTritonToTritonGPU", "convert-triton-to-tritongpu"),
    "passes.ttir.add_loop_aware_cse": ("TritonLoopAwareCSE", "triton-loop-aware-cse"),
    "passes.ttir.add_loop_unroll": ("TritonLoopUnroll", "triton-loop-unroll"),
    "passes.ttir.add_reorder_broadcast": ("TritonReorderBroadcast", "triton-reorder-broadcast"),
    "passes.ttir.add_rewrite_tensor_descriptor_to_pointer": (
        "TritonRewriteTensorDescriptorToPointer",
        "triton-rewrite-tensor-descriptor-to-pointer",
    ),
    "passes.ttir.add_rewrite_tensor_pointer": ("TritonRewriteTensorPointer", "triton-rewrite-tensor-pointer"),
    "passes.ttir.add_triton_licm": ("TritonLoopInvariantCodeMotion", "triton-licm"),
}
