package ps

// Leaves of the codes, for a test that writes payloads.
var (
	IIDLeaves = [2]string{iidFreqCoarseLeaves, iidFreqFineLeaves}
	IIDTime   = [2]string{iidTimeCoarseLeaves, iidTimeFineLeaves}
	ICCLeaves = [2]string{iccFreqLeaves, iccTimeLeaves}
	IPDLeaves = [2]string{ipdFreqLeaves, ipdTimeLeaves}
	OPDLeaves = [2]string{opdFreqLeaves, opdTimeLeaves}
)
