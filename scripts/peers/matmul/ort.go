//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Numbers of onnxruntime_c_api.h: the version of the API that is asked for, which all newer libraries have, enums, and places in the
// table of functions OrtApi, to which later versions only append.
const (
	ortVersion        = 17
	ortWarning        = 2
	ortArenaAllocator = 1

	ortGetErrorMessage      = 2
	ortCreateEnv            = 3
	ortCreateSessionOfBytes = 8
	ortRun                  = 9
	ortCreateOptions        = 10
	ortSetIntraOpThreads    = 24
	ortCreateTensor         = 49
	ortCreateCPUMemory      = 69
	ortReleaseStatus        = 93
	ortReleaseSession       = 95
	ortReleaseValue         = 96
	ortReleaseOptions       = 100
	ortAddConfig            = 130
	ortFunctions            = 131
)

// ortHandle points to one of the library's own objects; a status of 0 is success.
type ortHandle uintptr

// ortAPI is what is used of OrtApi.
type ortAPI struct {
	// const char *GetErrorMessage(const OrtStatus *)
	errorMessage func(status ortHandle) string
	// OrtStatus *CreateEnv(OrtLoggingLevel, const char *logid, OrtEnv **)
	createEnv func(level int32, name string, env *ortHandle) ortHandle
	// OrtStatus *CreateSessionFromArray(const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtSession **)
	createSession func(env ortHandle, model *byte, size uintptr, options ortHandle, session *ortHandle) ortHandle
	// OrtStatus *Run(OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t, const char *const *,
	// size_t, OrtValue **)
	run func(session, options ortHandle, inNames **byte, in *ortHandle, ins uintptr, outNames **byte, outs uintptr, out *ortHandle) ortHandle
	// OrtStatus *CreateSessionOptions(OrtSessionOptions **)
	createOptions func(options *ortHandle) ortHandle
	// OrtStatus *SetIntraOpNumThreads(OrtSessionOptions *, int)
	setThreads func(options ortHandle, n int32) ortHandle
	// OrtStatus *AddSessionConfigEntry(OrtSessionOptions *, const char *key, const char *value)
	addConfig func(options ortHandle, key, value string) ortHandle
	// OrtStatus *CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *, void *, size_t bytes, const int64_t *shape, size_t,
	// ONNXTensorElementDataType, OrtValue **)
	createTensor func(memory ortHandle, data *float32, size uintptr, dims *int64, rank uintptr, kind int32, value *ortHandle) ortHandle
	// OrtStatus *CreateCpuMemoryInfo(OrtAllocatorType, OrtMemType, OrtMemoryInfo **)
	createCPUMemory func(allocator, memory int32, info *ortHandle) ortHandle
	// void Release…(…)
	releaseStatus, releaseSession, releaseValue, releaseOptions func(ortHandle)
}

// ortLibrary is an opened ONNX Runtime.
type ortLibrary struct {
	api                  ortAPI
	number               string
	env, options, memory ortHandle
}

func openORT(file string, threads int) (*ortLibrary, error) {
	handle, err := open(file, "OrtGetApiBase")
	if err != nil {
		return nil, err
	}
	// struct OrtApiBase { const OrtApi *(*GetApi)(uint32_t version); const char *(*GetVersionString)(void); }
	var base func() *[2]uintptr
	purego.RegisterLibFunc(&base, handle, "OrtGetApiBase")
	var table func(version uint32) *[ortFunctions]uintptr
	var number func() string
	purego.RegisterFunc(&table, base()[0])
	purego.RegisterFunc(&number, base()[1])
	functions := table(ortVersion)
	if functions == nil {
		return nil, fmt.Errorf("%s: version %s lacks API %d", file, number(), ortVersion)
	}
	l := &ortLibrary{number: number()}
	l.api.register(functions)
	return l, l.start(threads)
}

func (a *ortAPI) register(functions *[ortFunctions]uintptr) {
	for at, fn := range map[int]any{
		ortGetErrorMessage: &a.errorMessage, ortCreateEnv: &a.createEnv, ortCreateSessionOfBytes: &a.createSession, ortRun: &a.run,
		ortCreateOptions: &a.createOptions, ortSetIntraOpThreads: &a.setThreads, ortAddConfig: &a.addConfig, ortCreateTensor: &a.createTensor,
		ortCreateCPUMemory: &a.createCPUMemory, ortReleaseStatus: &a.releaseStatus, ortReleaseSession: &a.releaseSession,
		ortReleaseValue: &a.releaseValue, ortReleaseOptions: &a.releaseOptions,
	} {
		purego.RegisterFunc(fn, functions[at])
	}
}

// start makes what all sessions share. Threads spin while a product runs, which is the library's default, but not after it.
func (l *ortLibrary) start(threads int) error {
	for _, call := range []func() ortHandle{
		func() ortHandle { return l.api.createEnv(ortWarning, "matmul", &l.env) },
		func() ortHandle { return l.api.createOptions(&l.options) },
		func() ortHandle { return l.api.setThreads(l.options, int32(threads)) },
		func() ortHandle { return l.api.addConfig(l.options, "session.force_spinning_stop", "1") },
		func() ortHandle { return l.api.createCPUMemory(ortArenaAllocator, 0, &l.memory) },
	} {
		if err := l.check(call()); err != nil {
			return err
		}
	}
	return nil
}

// check makes an error of a status.
func (l *ortLibrary) check(status ortHandle) error {
	if status == 0 {
		return nil
	}
	defer l.api.releaseStatus(status)
	return errors.New("onnxruntime: " + l.api.errorMessage(status))
}

func (l *ortLibrary) version() string { return "ONNX Runtime " + l.number }

func (l *ortLibrary) contenders(s shape, x, w []float32) ([]contender, func(), error) {
	f32, err := l.product(s, x, floatModel(s, w))
	if err != nil {
		return nil, nil, err
	}
	int8, err := l.product(s, x, byteModel(s, w))
	if err != nil {
		f32.release()
		return nil, nil, err
	}
	release := func() {
		f32.release()
		int8.release()
	}
	return []contender{{"ORT f32", 1e-5, f32}, {"ORT int8", 0.05, int8}}, release, nil
}

// ortProduct is a session of one operation, with the tensors that it reads and writes.
type ortProduct struct {
	library           *ortLibrary
	session           ortHandle
	in, out           ortHandle
	inName, outName   *byte
	x, y              []float32 // what the tensors are made of
	inShape, outShape [2]int64
}

func (l *ortLibrary) product(s shape, x []float32, model []byte) (*ortProduct, error) {
	p := &ortProduct{
		library: l, inName: &[]byte("x\x00")[0], outName: &[]byte("y\x00")[0], x: x, y: make([]float32, s.m*s.n),
		inShape: [2]int64{int64(s.m), int64(s.k)}, outShape: [2]int64{int64(s.m), int64(s.n)},
	}
	err := l.check(l.api.createSession(l.env, &model[0], uintptr(len(model)), l.options, &p.session))
	if err == nil {
		err = p.tensor(p.x, &p.inShape, &p.in)
	}
	if err == nil {
		err = p.tensor(p.y, &p.outShape, &p.out)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// tensor makes a tensor of data, which stays where it is.
func (p *ortProduct) tensor(data []float32, dims *[2]int64, value *ortHandle) error {
	size := uintptr(len(data)) * unsafe.Sizeof(data[0])
	return p.library.check(p.library.api.createTensor(p.library.memory, &data[0], size, &dims[0], uintptr(len(dims)), onnxFloat, value))
}

func (p *ortProduct) multiply() error {
	return p.library.check(p.library.api.run(p.session, 0, &p.inName, &p.in, 1, &p.outName, 1, &p.out))
}

func (p *ortProduct) result() ([]float32, error) { return p.y, nil }

func (p *ortProduct) release() {
	api := &p.library.api
	if p.out != 0 {
		api.releaseValue(p.out)
	}
	if p.in != 0 {
		api.releaseValue(p.in)
	}
	if p.session != 0 {
		api.releaseSession(p.session)
	}
}
