package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	place  stackFlags
	output string
	show   bool
}

func newValidateCommand() *cobra.Command {
	var flags validateFlags
	command := &cobra.Command{
		Use:   "validate [--stack NAME | --inventory DIR]",
		Short: "Check an inventory: every problem at once, without a network",
		Long: `Check the inventory of a stack, of the folder DIR, or, without a flag, of the current folder. Every problem is printed
at once, each with its file and line. That of a stack is held against the stacks beside it, too: two on one host share no
VMID, address, MAC address, name and GPU, and no VLAN with different networks. Nothing is read but these files, and nothing is touched.

Exit codes: 0 the inventory is sound, 3 it is not, 1 it could not be read.`,
		Example: `  em-infra validate --stack k3s-dev
  em-infra validate --inventory stacks/k3s-dev --show
  em-infra validate --stack k3s-dev --output json`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command.OutOrStdout()) },
	}
	flags.place.bindPlace(command)
	bindOutput(command, &flags.output)
	command.Flags().BoolVar(&flags.show, "show", false, "print the whole effective inventory, defaults marked")
	return command
}

func (f *validateFlags) run(out io.Writer) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	if f.place.stack != "" && f.place.inventory != "" {
		return refused(errors.New("--stack and --inventory: which of the two is meant? give one"))
	}
	verdict, err := judge(f.place)
	if err != nil {
		return err
	}
	render := validateText
	if f.output == outputJSON {
		render = validateJSON
	}
	if err := render(out, verdict, f.show); err != nil {
		return err
	}
	if len(verdict.problems) > 0 {
		return errUnsound
	}
	return nil
}

// verdict is a valid inventory, or its problems.
type verdict struct {
	content  operator.Content
	problems inventory.Problems
}

// judge loads the inventory that the flags name. It returns an error only if the inventory cannot be read.
func judge(place stackFlags) (verdict, error) {
	var (
		content operator.Content
		err     error
	)
	if place.stack != "" {
		content, err = validateStack(place)
	} else {
		content, err = operator.LoadContent(place.inventory)
	}
	var problems *inventory.Problems
	if errors.As(err, &problems) {
		return verdict{problems: *problems}, nil
	}
	return verdict{content: content}, err
}

// validateStack loads the inventory of a stack, and compares it with those of the stacks beside it.
func validateStack(place stackFlags) (operator.Content, error) {
	o, err := place.open(streams{})
	if err != nil {
		return nil, errors.Unwrap(err) // an unreadable file is not a problem of the inventory
	}
	return o.Validate()
}

func validateText(out io.Writer, v verdict, show bool) error {
	if len(v.problems) > 0 {
		_, err := fmt.Fprintln(out, v.problems.Error())
		return err
	}
	if show {
		files, err := v.content.Files()
		if err != nil {
			return err
		}
		texts := make([]string, len(files))
		for i, file := range files {
			texts[i] = "# " + file.Name + "\n" + string(file.Text)
		}
		_, err = fmt.Fprint(terminal.Raw(out), strings.Join(texts, "---\n"))
		return err
	}
	_, err := fmt.Fprintln(out, v.content.Summary())
	return err
}

// validation is the JSON form of a verdict.
type validation struct {
	// Sound is true if the inventory has no problems.
	Sound bool `json:"sound"`
	// Problems are all problems of the inventory.
	Problems inventory.Problems `json:"problems"`
	// Effective is the inventory with its defaults, with --show and for a valid inventory.
	Effective *effectiveJSON `json:"effective,omitempty"`
}

// effectiveJSON is the effective inventory: its files as in YAML, and the paths of the values that are defaults.
type effectiveJSON struct {
	// Cluster is cluster.yaml with its defaults; absent for another kind of stack.
	Cluster any `json:"cluster,omitempty"`
	// Nodes is nodes.yaml with its defaults; absent for another kind of stack.
	Nodes any `json:"nodes,omitempty"`
	// Hosts is hosts.yaml with its defaults; absent for another kind of stack.
	Hosts any `json:"hosts,omitempty"`
	// Systems is systems.yaml with its defaults; absent for another kind of stack.
	Systems any `json:"systems,omitempty"`
	// Defaults are the paths of the default values.
	Defaults defaultedJSON `json:"defaults"`
}

type defaultedJSON struct {
	// Cluster are the paths in cluster.yaml.
	Cluster []string `json:"cluster,omitempty"`
	// Nodes are the paths in nodes.yaml.
	Nodes []string `json:"nodes,omitempty"`
	// Hosts are the paths in hosts.yaml.
	Hosts []string `json:"hosts,omitempty"`
	// Systems are the paths in systems.yaml.
	Systems []string `json:"systems,omitempty"`
}

// placeOf returns where the content of a file and the paths of its defaults belong.
func (e *effectiveJSON) placeOf(file string) (content *any, defaults *[]string) {
	switch file {
	case manifest.ClusterFile:
		return &e.Cluster, &e.Defaults.Cluster
	case manifest.NodesFile:
		return &e.Nodes, &e.Defaults.Nodes
	case manifest.SystemsFile:
		return &e.Systems, &e.Defaults.Systems
	default:
		return &e.Hosts, &e.Defaults.Hosts
	}
}

func validateJSON(out io.Writer, v verdict, show bool) error {
	result := validation{Sound: len(v.problems) == 0, Problems: append(inventory.Problems{}, v.problems...)}
	if show && result.Sound {
		files, err := v.content.Files()
		if err != nil {
			return err
		}
		result.Effective = &effectiveJSON{}
		for _, file := range files {
			content, defaults := result.Effective.placeOf(file.Name)
			*defaults = file.Defaults
			if err := yaml.Unmarshal(file.Text, content); err != nil {
				return fmt.Errorf("read the effective inventory: %w", err)
			}
		}
	}
	return writeJSON(out, result)
}
