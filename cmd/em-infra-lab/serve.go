package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/lab/hostfile"
)

// making are the settings with which a lab is created and run.
type making struct {
	place   place
	choices command.Choices
	// hosts is the file that describes them.
	hosts string
	// role of the lab's token.
	role string
	// kubernetes requests control planes that really run.
	kubernetes bool
	tools      command.ToolFlags
}

func (m *making) bind(c *cobra.Command) {
	m.place.Bind(c)
	m.choices.Bind(c, "the name of this program")
	c.Flags().StringVar(&m.hosts, "hosts", "", "YAML `file` that describes the hosts (default: one host named pve, as its installer leaves it)")
	c.Flags().StringVar(&m.role, "role", "Administrator", "`role` of the lab's API token, one that every Proxmox VE host has, such as PVEVMAdmin")
	c.Flags().BoolVar(&m.kubernetes, "kubernetes", false, "run a real Kubernetes control plane for the Talos clusters of the lab; its programs are built the first time, which takes minutes and the source of em-infra")
	m.tools.Bind(c)
}

// options returns the complete settings of the lab. Errors are reported before anything is written.
func (m *making) options(c *cobra.Command) (lab.Options, error) {
	dir, err := m.place.Dir()
	if err != nil {
		return lab.Options{}, err
	}
	site, err := hostfile.Load(m.hosts)
	if err != nil {
		return lab.Options{}, command.Refused(err)
	}
	if err := m.choices.Check(dir); err != nil {
		return lab.Options{}, command.Refused(err)
	}
	o, err := m.choices.Options(lab.Options{
		Dir: dir, Stack: program, Site: site, Role: m.role, Lifeline: os.Getenv(lab.LifelineVariable), Registry: lab.DefaultRegistry(),
		Log: slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)),
	})
	if err != nil {
		return o, command.Refused(err)
	}
	if o.Kubernetes, err = m.tools.Tools(); err != nil {
		return o, command.Refused(err)
	}
	if m.kubernetes && o.Kubernetes == nil {
		tools, err := command.Tools(c.Context(), c.ErrOrStderr())
		if err != nil {
			return o, err
		}
		o.Kubernetes = &tools
	}
	return o, os.MkdirAll(dir, 0o700)
}

func newServeCommand() *cobra.Command {
	var m making
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the lab in the foreground, until it is interrupted",
		Long: `Run the lab in the foreground, until it is interrupted. Its state is in the folder then, and the next one goes on from it
as hosts do after a power cut.`,
		Example: "  em-infra-lab serve\n  em-infra-lab serve --hosts hosts.yaml --pve 9.1 --time-scale 1",
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := m.options(c)
			if err != nil {
				return err
			}
			o.Ready = func(d lab.Description) { announce(c.OutOrStdout(), d, &m.place) }
			return lab.Serve(c.Context(), o)
		},
	}
	m.bind(c)
	return c
}

// announce prints where a lab is.
func announce(out io.Writer, d lab.Description, p *place) {
	fmt.Fprintf(out, "host %s (Proxmox VE %s) on %s, time scale %g · next: eval \"$(%s%s)\"\n",
		d.Host, d.Release, d.ProxmoxEndpoint(), d.TimeScale, p.Typed("env"), p.Place())
}

func newStartCommand() *cobra.Command {
	var m making
	c := &cobra.Command{
		Use:   "start",
		Short: "Start the lab in the background; one that was stopped comes back as it was",
		Long: `Start the lab in the background. One that was stopped comes back as a host does after a power cut: what was half done
stays half done (a clone leaves a locked VM, see "em-infra-lab unlock"), and faults that were asked for are gone.`,
		Example: "  em-infra-lab start\n  em-infra-lab start --pve 9.1 --dir /tmp/pve9",
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := m.options(c)
			if err != nil {
				return err
			}
			pid, err := lab.Running(o.Dir)
			if err != nil {
				return err
			}
			if pid == 0 {
				process, err := m.process(o)
				if err != nil {
					return err
				}
				if err := lab.Start(c.Context(), o.Dir, process); err != nil {
					return fmt.Errorf("%w (log: %s)", err, lab.LogFile(o.Dir))
				}
			}
			d, err := lab.ReadDescription(o.Dir)
			if err != nil {
				return err
			}
			announce(c.OutOrStdout(), d, &m.place)
			return nil
		},
	}
	m.bind(c)
	return c
}

// process returns a command that runs this program as the lab.
func (m *making) process(o lab.Options) (*exec.Cmd, error) {
	args := append([]string{"serve", "--dir", o.Dir, "--role", m.role}, m.choices.Args()...)
	if m.hosts != "" {
		file, err := filepath.Abs(m.hosts)
		if err != nil {
			return nil, err
		}
		args = append(args, "--hosts", file)
	}
	if o.Kubernetes != nil {
		args = append(args, command.ToolArgs(*o.Kubernetes)...)
	}
	return exec.Command("/proc/self/exe", args...), nil //nolint:gosec // this program, even when `go run` removes its file
}
