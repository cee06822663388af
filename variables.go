package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// dropEmptyVariables unsets the variables of flags that are set to nothing, as files of services leave them: the parser
// would take them for values.
func dropEmptyVariables(n *kong.Node) error {
	for _, flag := range n.Flags {
		for _, name := range flag.Envs {
			if value, ok := os.LookupEnv(name); ok && value == "" {
				if err := os.Unsetenv(name); err != nil {
					return fmt.Errorf("unset %s: %w", name, err)
				}
			}
		}
	}
	for _, child := range n.Children {
		if err := dropEmptyVariables(child); err != nil {
			return err
		}
	}
	return nil
}

// nameVariable adds to an error about a flag the variable that the flag's value came from, if it did.
func nameVariable(err error, command *kong.Context, args []string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, flag := range command.Flags() {
		given := func(arg string) bool {
			name, _, _ := strings.Cut(arg, "=")
			return name == "--"+flag.Name || flag.Short != 0 && strings.HasPrefix(arg, "-"+string(flag.Short))
		}
		about := regexp.MustCompile(`^--` + regexp.QuoteMeta(flag.Name) + `($|[^-a-z0-9])`)
		if !about.MatchString(text) || slices.ContainsFunc(args, given) {
			continue
		}
		for _, name := range flag.Envs {
			if _, set := os.LookupEnv(name); set && !strings.Contains(text, name) { // the parser may have named it
				return fmt.Errorf("%w (from %s)", err, name)
			}
		}
	}
	return err
}
