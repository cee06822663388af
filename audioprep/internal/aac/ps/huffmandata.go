package ps

// The Huffman codes of ISO/IEC 14496-3, subpart 8, tables 8.B.16 to 8.B.20, as huffman.New reads
// them: for each code word, in order, its length in base 36 and, in two hexadecimal digits, the
// difference it stands for, moved up by codeOffset.
const (
	iidFreqCoarseLeaves = "14034133f44243e54353d63c64464573b84693aa39b47d48d38e49e4af37f4bg36h35h32h33h34h4ci4di4e"
	iidTimeCoarseLeaves = "14023f34143e54263d74383c944a3bb45c3ad46e47f39h48h38j49j32j33j34k35k36k37k4ak4bk4ck4dk4e"
	iidFreqFineLeaves   = "43e44233f34153d54363c64473b74583a846947b4ac35c4ba38a48h2bh55h2dh53g2fg51e32d34d4ce4eh2eh52i26i27" +
		"i24i25f31b37b49f4fi2ai56i28i29i59i5ai57i58e33e4di5di5ei5bi5ci22i23i2ci54g30g50c36a39140"
	iidTimeFineLeaves = "24173c74463d64384593a946b49c4bf2bf2cf52f53d33a39a47d4df2df2eg26g5ag24g25g5dg5eg5bg5cg22g23g27g59" +
		"g28g58f2fe31c36c4ab38b48e4ff51g29g57d34d4ce32e4eg2ag56f30f50g54g55d35c3793b53e54233f140"
	iccFreqLeaves = "14024133f44253e64373d844945a3cb46c3bd47e3ae39"
	iccTimeLeaves = "14024133f44253e64373d84493ca45b3bc46d3ae39e47"
	ipdFreqLeaves = "341444445443446442447140"
	ipdTimeLeaves = "445544543442446341347140"
	opdFreqLeaves = "347341443446442545544140"
	opdTimeLeaves = "445442446544543341347140"
)
