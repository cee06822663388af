//go:build !linux || nocuda

package driver

// built says that this build can't open libraries: it is for another system, or was
// made with -tags nocuda, without purego.
const built = false

func openLibrary(string) (uintptr, error) { return 0, ErrNotBuilt }

func lookUp(uintptr, string) (uintptr, error) { return 0, ErrNotBuilt }

func call(uintptr, ...uintptr) uintptr { panic("driver: this build opens no library") }
