package silk

// Numbers of RFC 6716, sections 4.2.7.5.1 to 4.2.7.5.6.

// narrowFirst is table 23: the first stage, in Q8.
var narrowFirst = [][]uint8{
	{12, 35, 60, 83, 108, 132, 157, 180, 206, 228},
	{15, 32, 55, 77, 101, 125, 151, 175, 201, 225},
	{19, 42, 66, 89, 114, 137, 162, 184, 209, 230},
	{12, 25, 50, 72, 97, 120, 147, 172, 200, 223},
	{26, 44, 69, 90, 114, 135, 159, 180, 205, 225},
	{13, 22, 53, 80, 106, 130, 156, 180, 205, 228},
	{15, 25, 44, 64, 90, 115, 142, 168, 196, 222},
	{19, 24, 62, 82, 100, 120, 145, 168, 190, 214},
	{22, 31, 50, 79, 103, 120, 151, 170, 203, 227},
	{21, 29, 45, 65, 106, 124, 150, 171, 196, 224},
	{30, 49, 75, 97, 121, 142, 165, 186, 209, 229},
	{19, 25, 52, 70, 93, 116, 143, 166, 192, 219},
	{26, 34, 62, 75, 97, 118, 145, 167, 194, 217},
	{25, 33, 56, 70, 91, 113, 143, 165, 196, 223},
	{21, 34, 51, 72, 97, 117, 145, 171, 196, 222},
	{20, 29, 50, 67, 90, 117, 144, 168, 197, 221},
	{22, 31, 48, 66, 95, 117, 146, 168, 196, 222},
	{24, 33, 51, 77, 116, 134, 158, 180, 200, 224},
	{21, 28, 70, 87, 106, 124, 149, 170, 194, 217},
	{26, 33, 53, 64, 83, 117, 152, 173, 204, 225},
	{27, 34, 65, 95, 108, 129, 155, 174, 210, 225},
	{20, 26, 72, 99, 113, 131, 154, 176, 200, 219},
	{34, 43, 61, 78, 93, 114, 155, 177, 205, 229},
	{23, 29, 54, 97, 124, 138, 163, 179, 209, 229},
	{30, 38, 56, 89, 118, 129, 158, 178, 200, 231},
	{21, 29, 49, 63, 85, 111, 142, 163, 193, 222},
	{27, 48, 77, 103, 133, 158, 179, 196, 215, 232},
	{29, 47, 74, 99, 124, 151, 176, 198, 220, 237},
	{33, 42, 61, 76, 93, 121, 155, 174, 207, 225},
	{29, 53, 87, 112, 136, 154, 170, 188, 208, 227},
	{24, 30, 52, 84, 131, 150, 166, 186, 203, 229},
	{37, 48, 64, 84, 104, 118, 156, 177, 201, 230},
}

// narrowFirstCode is of table 14, by whether the frame is voiced.
var narrowFirstCode = [][]uint8{
	{212, 178, 148, 129, 108, 96, 85, 82, 79, 77, 61, 59, 57, 56, 51, 49, 48, 45, 42, 41, 40, 38, 36, 34, 31, 30, 21, 12, 10, 3, 1, 0},
	{255, 245, 244, 236, 233, 225, 217, 203, 190, 176, 175, 161, 149, 136, 125, 114, 102, 91, 81, 71, 60, 52, 43, 35, 28, 20, 19, 18, 12, 11, 5, 0},
}

// narrowCode is table 15: the codes of the second stage.
var narrowCode = [][]uint8{
	{255, 254, 253, 238, 14, 3, 2, 1, 0},
	{255, 254, 252, 218, 35, 3, 2, 1, 0},
	{255, 254, 250, 208, 59, 4, 2, 1, 0},
	{255, 254, 246, 194, 71, 10, 2, 1, 0},
	{255, 252, 236, 183, 82, 8, 2, 1, 0},
	{255, 252, 235, 180, 90, 17, 2, 1, 0},
	{255, 248, 224, 171, 97, 30, 4, 1, 0},
	{255, 254, 236, 173, 95, 37, 7, 1, 0},
}

// narrowCodeOf is table 17: which of the codes each coefficient has.
var narrowCodeOf = []string{
	"aaaaaaaaaa",
	"bdbccbcbbb",
	"cbbbbbbbbb",
	"bccccbcbbb",
	"cddddccccc",
	"afddccccbb",
	"accccccccb",
	"cdgeeefeff",
	"ceffefegee",
	"ceehefeffe",
	"edddcdcccc",
	"bffgefefff",
	"chegffffff",
	"chfffffgfe",
	"ddfeefefee",
	"cddffeeeee",
	"ceegefefff",
	"cfegfffefe",
	"chefefefff",
	"cfeghgfgfe",
	"dghegffgef",
	"chgeeefeff",
	"effeggfgfe",
	"cffgfgegee",
	"efffdheffe",
	"cdeffgeffe",
	"cdcddecddd",
	"bbcccccdcc",
	"effgggfgef",
	"dffeeeeddc",
	"cfdhffeefe",
	"eefefgfgfe",
}

// narrowPrediction is of table 20: the weights of the coefficient behind, in Q8.
var narrowPrediction = [][]uint8{
	{179, 138, 140, 148, 151, 149, 153, 151, 163},
	{116, 67, 82, 59, 92, 72, 100, 89, 92},
}

// narrowPredictionOf is table 21: which of the two sets each coefficient takes.
var narrowPredictionOf = []string{
	"ABAAAAAAA",
	"BAAAAAAAA",
	"AAAAAAAAA",
	"BBBAAAABA",
	"ABAAAAAAA",
	"ABAAAAAAA",
	"BABBAAABA",
	"ABBAABBAA",
	"AABBABABB",
	"AABBAABBB",
	"AAAAAAAAA",
	"ABABBBBBA",
	"ABABBBBBA",
	"ABBBBBBBA",
	"BABBABBBB",
	"ABBBBBABA",
	"AABBABABA",
	"AABBBABBB",
	"ABBAABBBA",
	"AAABBBABA",
	"ABBAABABA",
	"ABBAAABBA",
	"AAAAABBBB",
	"AABBAAABB",
	"AAABABBBB",
	"ABBBBBBBA",
	"AAAAAAAAA",
	"AAAAAAAAA",
	"AABABBABA",
	"BAABAAAAA",
	"AAABBABAB",
	"BABBABBBB",
}

// narrowSpacing is of table 25: the least distances, in Q15.
var narrowSpacing = []int32{
	250, 3, 6, 3, 3, 3, 4, 3, 3, 3, 461,
}

// wideFirst is table 24: the first stage, in Q8.
var wideFirst = [][]uint8{
	{7, 23, 38, 54, 69, 85, 100, 116, 131, 147, 162, 178, 193, 208, 223, 239},
	{13, 25, 41, 55, 69, 83, 98, 112, 127, 142, 157, 171, 187, 203, 220, 236},
	{15, 21, 34, 51, 61, 78, 92, 106, 126, 136, 152, 167, 185, 205, 225, 240},
	{10, 21, 36, 50, 63, 79, 95, 110, 126, 141, 157, 173, 189, 205, 221, 237},
	{17, 20, 37, 51, 59, 78, 89, 107, 123, 134, 150, 164, 184, 205, 224, 240},
	{10, 15, 32, 51, 67, 81, 96, 112, 129, 142, 158, 173, 189, 204, 220, 236},
	{8, 21, 37, 51, 65, 79, 98, 113, 126, 138, 155, 168, 179, 192, 209, 218},
	{12, 15, 34, 55, 63, 78, 87, 108, 118, 131, 148, 167, 185, 203, 219, 236},
	{16, 19, 32, 36, 56, 79, 91, 108, 118, 136, 154, 171, 186, 204, 220, 237},
	{11, 28, 43, 58, 74, 89, 105, 120, 135, 150, 165, 180, 196, 211, 226, 241},
	{6, 16, 33, 46, 60, 75, 92, 107, 123, 137, 156, 169, 185, 199, 214, 225},
	{11, 19, 30, 44, 57, 74, 89, 105, 121, 135, 152, 169, 186, 202, 218, 234},
	{12, 19, 29, 46, 57, 71, 88, 100, 120, 132, 148, 165, 182, 199, 216, 233},
	{17, 23, 35, 46, 56, 77, 92, 106, 123, 134, 152, 167, 185, 204, 222, 237},
	{14, 17, 45, 53, 63, 75, 89, 107, 115, 132, 151, 171, 188, 206, 221, 240},
	{9, 16, 29, 40, 56, 71, 88, 103, 119, 137, 154, 171, 189, 205, 222, 237},
	{16, 19, 36, 48, 57, 76, 87, 105, 118, 132, 150, 167, 185, 202, 218, 236},
	{12, 17, 29, 54, 71, 81, 94, 104, 126, 136, 149, 164, 182, 201, 221, 237},
	{15, 28, 47, 62, 79, 97, 115, 129, 142, 155, 168, 180, 194, 208, 223, 238},
	{8, 14, 30, 45, 62, 78, 94, 111, 127, 143, 159, 175, 192, 207, 223, 239},
	{17, 30, 49, 62, 79, 92, 107, 119, 132, 145, 160, 174, 190, 204, 220, 235},
	{14, 19, 36, 45, 61, 76, 91, 108, 121, 138, 154, 172, 189, 205, 222, 238},
	{12, 18, 31, 45, 60, 76, 91, 107, 123, 138, 154, 171, 187, 204, 221, 236},
	{13, 17, 31, 43, 53, 70, 83, 103, 114, 131, 149, 167, 185, 203, 220, 237},
	{17, 22, 35, 42, 58, 78, 93, 110, 125, 139, 155, 170, 188, 206, 224, 240},
	{8, 15, 34, 50, 67, 83, 99, 115, 131, 146, 162, 178, 193, 209, 224, 239},
	{13, 16, 41, 66, 73, 86, 95, 111, 128, 137, 150, 163, 183, 206, 225, 241},
	{17, 25, 37, 52, 63, 75, 92, 102, 119, 132, 144, 160, 175, 191, 212, 231},
	{19, 31, 49, 65, 83, 100, 117, 133, 147, 161, 174, 187, 200, 213, 227, 242},
	{18, 31, 52, 68, 88, 103, 117, 126, 138, 149, 163, 177, 192, 207, 223, 239},
	{16, 29, 47, 61, 76, 90, 106, 119, 133, 147, 161, 176, 193, 209, 224, 240},
	{15, 21, 35, 50, 61, 73, 86, 97, 110, 119, 129, 141, 175, 198, 218, 237},
}

// wideFirstCode is of table 14, by whether the frame is voiced.
var wideFirstCode = [][]uint8{
	{225, 204, 201, 184, 183, 175, 158, 154, 153, 135, 119, 115, 113, 110, 109, 99, 98, 95, 79, 68, 52, 50, 48, 45, 43, 32, 31, 27, 18, 10, 3, 0},
	{255, 251, 235, 230, 212, 201, 196, 182, 167, 166, 163, 151, 138, 124, 110, 104, 90, 78, 76, 70, 69, 57, 45, 34, 24, 21, 11, 6, 5, 4, 3, 0},
}

// wideCode is table 16: the codes of the second stage.
var wideCode = [][]uint8{
	{255, 254, 253, 244, 12, 3, 2, 1, 0},
	{255, 254, 252, 224, 38, 3, 2, 1, 0},
	{255, 254, 251, 209, 57, 4, 2, 1, 0},
	{255, 254, 244, 195, 69, 4, 2, 1, 0},
	{255, 251, 232, 184, 84, 7, 2, 1, 0},
	{255, 254, 240, 186, 86, 14, 2, 1, 0},
	{255, 254, 239, 178, 91, 30, 5, 1, 0},
	{255, 248, 227, 177, 100, 19, 2, 1, 0},
}

// wideCodeOf is table 18: which of the codes each coefficient has.
var wideCodeOf = []string{
	"aaaaaaaaaaaaaaaa",
	"cdddddcccccbbbad",
	"cffdheefcfeffedd",
	"acbccbbbbbaaaaab",
	"agfegehfeeeffeed",
	"adffeddfddddddce",
	"aaaaaaaaaaaaaaaa",
	"acgdhcfdeffeddcd",
	"agcggefegfeefddd",
	"cbaaaaaaaaaaaaaa",
	"abaaaaaaaaaaaaab",
	"ccdefdddddddccbd",
	"ccddeddddddddcbd",
	"deeegeefdfeefede",
	"agefehfcgfheedfd",
	"ababbbbbbbaaaaba",
	"bgfhfefdefeeedde",
	"bddeeddfcddfffde",
	"cddcccdcbcbcbbbe",
	"acdfddcccbbaaaaa",
	"dedfddccbbbbbcce",
	"cgdhhefefdfddcdd",
	"cdfggdfdeeddddce",
	"bddeeeedfffdbbbb",
	"cfdggeheefdeeddd",
	"agbbaaaaaaaaaaaa",
	"aggdfcffdeehheee",
	"ddhdfedddccdddcd",
	"aabaaacbcbbcccbb",
	"adcfddcdcbaabaab",
	"dffehfddcdccbaba",
	"cdfdedddcbcgeaaa",
}

// widePrediction is of table 20: the weights of the coefficient behind, in Q8.
var widePrediction = [][]uint8{
	{175, 148, 160, 176, 178, 173, 174, 164, 177, 174, 196, 182, 198, 192, 182},
	{68, 62, 66, 60, 72, 117, 85, 90, 118, 136, 151, 142, 160, 142, 155},
}

// widePredictionOf is table 22: which of the two sets each coefficient takes.
var widePredictionOf = []string{
	"AAAAAAAAAAAAAAB",
	"AAAAAAAAAAAAAAA",
	"AABAABBBABBBBAA",
	"AAAAAAAAAAAABAA",
	"ABBABABBABBBBBA",
	"AABAAAAAAAAAAAA",
	"BAAAAAAAAAABABA",
	"ABBAAABABBBABAB",
	"ABABBABABABBBBB",
	"AAAAAAAAAAAAAAB",
	"ABAAAAAAAAAAAAA",
	"AABABBBBBBBABAA",
	"AABAABABABAABAA",
	"AAAABBABABBBBAA",
	"ABAAABBABBBABBB",
	"AABBAAAAAAAABBA",
	"ABBABABBBBBABAA",
	"AABAAAABAABBBAA",
	"AAAAAAAAAAAAAAB",
	"AAAAAAAAAAAABAA",
	"AAAAAAAAAAAAAAA",
	"ABABABBABABABBA",
	"AABBBBABBAABBAA",
	"ABBABABABAAAABA",
	"AAABBABABBBBBBB",
	"AAAAAAAAAAAAAAB",
	"ABBAAABBAABBBBB",
	"AAAAABABBBBABBB",
	"AAAAAAAAAAAAAAB",
	"AAAAAAAAAAAAAAB",
	"BAAAAAAAAAABAAA",
	"AABAABBBAABAABA",
}

// wideSpacing is of table 25: the least distances, in Q15.
var wideSpacing = []int32{
	100, 3, 40, 3, 3, 3, 5, 14, 14, 10, 11, 3, 8, 9, 7, 3, 347,
}

// lsfExtension is table 19.
var lsfExtension = [...]uint8{100, 40, 16, 7, 3, 1, 0}

// interpolationCode is table 26.
var interpolationCode = [...]uint8{243, 221, 192, 181, 0}

// cosines is table 28, doubled: 2 cos(πi/128) in Q12.
var cosines = [...]int32{
	8192, 8190, 8182, 8170, 8152, 8130, 8104, 8072, 8034, 7994, 7946, 7896, 7840, 7778, 7714, 7644,
	7568, 7490, 7406, 7318, 7226, 7128, 7026, 6922, 6812, 6698, 6580, 6458, 6332, 6204, 6070, 5934,
	5792, 5648, 5502, 5352, 5198, 5040, 4880, 4718, 4552, 4382, 4212, 4038, 3862, 3684, 3502, 3320,
	3136, 2948, 2760, 2570, 2378, 2186, 1990, 1794, 1598, 1400, 1202, 1002, 802, 602, 402, 202,
	0, -202, -402, -602, -802, -1002, -1202, -1400, -1598, -1794, -1990, -2186, -2378, -2570, -2760, -2948,
	-3136, -3320, -3502, -3684, -3862, -4038, -4212, -4382, -4552, -4718, -4880, -5040, -5198, -5352, -5502, -5648,
	-5792, -5934, -6070, -6204, -6332, -6458, -6580, -6698, -6812, -6922, -7026, -7128, -7226, -7318, -7406, -7490,
	-7568, -7644, -7714, -7778, -7840, -7896, -7946, -7994, -8034, -8072, -8104, -8130, -8152, -8170, -8182, -8190,
	-8192,
}
