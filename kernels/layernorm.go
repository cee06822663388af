package kernels

import "fmt"

// LayerNorm sets dst[i] = (x[i] - mean) / sqrt(variance + eps) * gamma + beta for each of rows rows of d elements, the
// mean and the (biased) variance being the row's own. x is [rows][ldx], dst [rows][ldd], gamma and beta [d]. dst may be
// x, in the same place and with the same stride. The variance is summed about the mean in a second pass, so a large
// offset costs no precision.
func LayerNorm(dst []float32, ldd int, x []float32, ldx int, rows, d int, gamma, beta []float32, eps float32) {
	if rows <= 0 || d <= 0 {
		return
	}
	if rows > 1 && (ldx < d || ldd < d) || len(x) < (rows-1)*ldx+d || len(dst) < (rows-1)*ldd+d || len(gamma) < d || len(beta) < d {
		panic(fmt.Sprintf("kernels: LayerNorm: %d rows of %d: x %d at stride %d, dst %d at stride %d, gamma %d, beta %d",
			rows, d, len(x), ldx, len(dst), ldd, len(gamma), len(beta)))
	}
	for i := range rows {
		normRow(dst[i*ldd:][:d], x[i*ldx:][:d], gamma[:d], beta[:d], eps)
	}
}
