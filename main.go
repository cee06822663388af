// Command hark turns speech into text: over HTTP, or from the command line.
//
// This package only joins the others. Every command has a file of its own; the way of
// the data begins in server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"hark/batcher"
)

// commandLine is every command with one line of help. Each flag can also be set through the environment, as HARK_ and
// its name in capitals: --log-level is HARK_LOG_LEVEL. But --models-dir is HARK_MODELS, and --api-keys
// HARK_API_KEYS_FILE, since HARK_API_KEYS holds keys.
type commandLine struct {
	Version kong.VersionFlag `short:"v" env:"-" help:"Print the version."`

	ModelsDir string `env:"HARK_MODELS" placeholder:"DIR" help:"Where models are kept (default: hark/models in the user's cache folder)."`

	Transcribe  transcribeCmd `cmd:"" help:"Write down what is said in audio files."`
	Serve       serveCmd      `cmd:"" help:"Answer transcription requests over HTTP."`
	Inspect     inspectCmd    `cmd:"" help:"Say what audio files are, what is wrong with them and what they would cost."`
	Models      modelsCmd     `cmd:"" help:"List, fetch, describe and remove models."`
	Keys        keysCmd       `cmd:"" help:"Make API keys for a server."`
	Doctor      doctorCmd     `cmd:"" help:"Say what this machine has, what will be used and what is missing."`
	Bench       benchCmd      `cmd:"" help:"Measure how fast models run here, or how a server bears load."`
	Sim         simCmd        `cmd:"" help:"Show what ways of forming batches do under load, on a made-up device."`
	Conform     conformCmd    `cmd:"" help:"Replay what broke other servers against a server with OpenAI's audio API."`
	ShowVersion versionCmd    `cmd:"" name:"version" help:"Print the version."`
}

// gcPercent is how much garbage may lie beside what lives before it is collected, in percent. Nearly all that lives
// is weights and caches, which stay as long as their model: as much again in garbage, Go's default, would double
// the memory for nothing.
const gcPercent = 20

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end; from then on a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		report(os.Stderr, err)
	}
	os.Exit(exitCode(err))
}

// run carries out one command line. What it returns has not been printed yet.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var cli commandLine
	helped := false
	parser, err := newParser(&cli, stdout, stderr, func(int) { helped = true })
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if err := dropEmptyVariables(parser.Model.Node); err != nil {
		return err
	}
	command, err := parser.Parse(args)
	if helped { // help was printed, whatever else is wrong with the command line
		return nil
	}
	if err != nil {
		return usageError(err, args)
	}
	c := newConsole(stdin, stdout, stderr)
	command.BindTo(ctx, (*context.Context)(nil))
	command.Bind(c, &cli)
	err = command.Run()
	c.clear()
	return nameVariable(err, command, args)
}

// newParser makes the parser of cli. It calls exit where it would end the process.
func newParser(cli *commandLine, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("hark"),
		kong.Description("Speech to text on your own machine. Every flag can also be set by the environment variable that its help names."),
		kong.DefaultEnvars("HARK"),
		kong.KindMapper(reflect.String, kong.MapperFunc(verbatim)),
		kong.Vars{
			"version":        version(),
			"default_model":  defaultModel,
			"min_share":      fmt.Sprint(batcher.MinShare),
			"max_share":      fmt.Sprint(batcher.MaxShare),
			"max_beam_size":  fmt.Sprint(maxBeamSize),
			"max_batch_wait": batcher.MaxBatchWait.String(),
		},
		kong.ExplicitGroups([]kong.Group{{Key: "scheduling", Title: "Scheduling:"},
			{Key: "access", Title: "Who may call:"}, {Key: "jobs", Title: "Jobs and URLs:"}}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Writers(stdout, stderr),
		kong.Exit(exit),
	)
}

// errReported ends a command whose failures have all been printed already.
var errReported = errors.New("failed")

// exitCode is 0 for success, 2 for a command line that can't be understood, 130 after an interruption, else 1.
func exitCode(err error) int {
	var u *usage
	switch {
	case err == nil:
		return 0
	case errors.As(err, &u):
		return 2
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

// report prints an error and, below it, what can be done about it.
func report(w io.Writer, err error) {
	switch {
	case errors.Is(err, errReported):
		return
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "hark: interrupted")
		return
	}
	fmt.Fprintf(w, "hark: %s\n", printable(err.Error()))
	if h := hintFor(err); h != "" {
		fmt.Fprintf(w, "hint: %s\n", printable(h))
	}
}
