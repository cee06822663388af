package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hark": main})
}

// TestScripts runs testdata/script: the binary, one script a behaviour. Beside
// testscript's own, scripts have the commands
//
//	loop SECONDS FILE       make a WAV file of that length by looping the sample
//	silence SECONDS FILE    make a WAV file of that length without a sound
//	heard N                 the last stdout must be the sample's text N times, but for some words that were misheard
//	serve ARG...            start hark serve on a free port and wait until it is ready; $URL and $ADDR are where
//	shutdown                ask the server to stop; it must end well
//	crash                   end the server by SIGKILL
//	http STATUS METHOD URL [NAME=VALUE|NAME=@FILE]...
//	                        send a request, as a form if there are fields, with the API key in $KEY if there is
//	                        one; the answer is stdout and $LOCATION the path that its header Location names, if it has one
//	await STATUS METHOD URL [NAME=VALUE|NAME=@FILE]...
//	                        the same, again and again until the status is as wanted
//
// and the condition [model:NAME], true where the model is here. With CI set it's always true: there, nothing that
// needs a model is skipped. With -short it's always false.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script", nil) }

// runScripts runs a folder's scripts, with further variables.
func runScripts(t *testing.T, dir string, variables map[string]string) {
	t.Helper()
	sample, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	modelsDir := userModelsDir(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SAMPLE", filepath.Join(sample, "sample.wav"))
			env.Setenv("SAMPLE_TEXT", filepath.Join(sample, "sample.txt"))
			env.Setenv("HARK_MODELS", modelsDir)
			env.Setenv("MODELS", modelsDir)
			env.Setenv("PARAKEET", filepath.Join(sample, "parakeet-tiny"))
			for name, value := range variables {
				env.Setenv(name, value)
			}
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"loop": scriptLoop, "silence": scriptSilence, "heard": scriptHeard, "serve": scriptServe, "shutdown": scriptShutdown, "crash": scriptKill, "http": scriptHTTP, "await": scriptAwait,
		},
	})
}

// TestEveryFlagHasItsVariable holds the command line to what its help promises.
func TestEveryFlagHasItsVariable(t *testing.T) {
	parser, err := newParser(&commandLine{}, os.Stdout, os.Stderr, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{} // variable to flag
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			if f.Name == "help" || f.Name == "version" { // which end the program at once
				continue
			}
			want := "HARK_" + upper(f.Name)
			switch f.Name {
			case "models-dir":
				want = "HARK_MODELS"
			case "api-keys":
				want = "HARK_API_KEYS_FILE"
			}
			if !slices.Equal(f.Envs, []string{want}) {
				t.Errorf("flag --%s of %s: got variables %v, want %s", f.Name, n.FullPath(), f.Envs, want)
			}
			if f.Help == "" {
				t.Errorf("flag --%s of %s has no help", f.Name, n.FullPath())
			}
			if other, ok := seen[want]; ok && other != f.Name {
				t.Errorf("flags --%s and --%s share %s", other, f.Name, want)
			}
			seen[want] = f.Name
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(parser.Model.Node)
	if len(seen) < 20 {
		t.Errorf("got %d flags, want all of them", len(seen))
	}
}

// upper is a flag's name as it stands in a variable.
func upper(name string) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c == '-':
			b[i] = '_'
		case 'a' <= c && c <= 'z':
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
