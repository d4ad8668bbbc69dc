package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/output"
)

// LabStatus is the output of `status`.
type LabStatus struct {
	// Running reports whether the lab runs.
	Running bool `json:"running"`
	// Process is the ID of its process, where it runs.
	Process int `json:"process,omitempty"`
	// Host is the name of the emulated host.
	Host string `json:"host"`
	// Release of Proxmox VE that the host emulates.
	Release string `json:"release"`
	// Proxmox is the URL of its API.
	Proxmox string `json:"proxmox"`
	// Factory is the URL of the Image Factory.
	Factory string `json:"factory"`
	// Network of the addresses of the nodes; the first one, if there are several.
	Network string `json:"network"`
	// Clusters are the networks of the clusters in a lab that several stacks share.
	Clusters []lab.ClusterNetwork `json:"clusters,omitempty"`
	// TimeScale is the factor by which the durations of a small server are multiplied.
	TimeScale float64 `json:"timeScale"`
	// Seed decides which faults with a probability occur.
	Seed string `json:"seed"`
	// Kubernetes are the releases of Kubernetes that it can run, the oldest first. For a minor release that is not among them it runs the
	// next older one, else the oldest. Empty without Kubernetes.
	Kubernetes []string `json:"kubernetes"`
	// Log is the path of the file in which the lab logs its errors.
	Log string `json:"log"`
	// HostCalls is the path of the file with the calls to the host.
	HostCalls string `json:"hostCalls"`
	// NodeCalls is the path of the file with the calls to the nodes.
	NodeCalls string `json:"nodeCalls"`
}

// Status returns the command that prints the state of a lab.
func Status(place Place, short string) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:     "status" + place.Words().Usage,
		Short:   short,
		Example: place.Words().example("status") + "\n" + place.Words().example("status") + " --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(format); err != nil {
				return err
			}
			d, pid, err := Described(place)
			if err != nil {
				return err
			}
			dir, err := place.Dir()
			if err != nil {
				return Refused(err)
			}
			status := LabStatus{
				Running: pid != 0, Process: pid, Host: d.Host, Release: string(d.Release), Proxmox: d.ProxmoxEndpoint(), Factory: d.FactoryURL(),
				Network: d.Networks()[0].String(), Clusters: d.Clusters, TimeScale: d.TimeScale, Seed: d.Seed, Kubernetes: append([]string{}, d.Kubernetes...),
				Log: lab.LogFile(dir), HostCalls: lab.HostCalls(dir), NodeCalls: lab.NodeCalls(dir),
			}
			if format == output.JSON {
				return output.WriteJSON(command.OutOrStdout(), status)
			}
			return status.print(command.OutOrStdout())
		},
	}
	place.Bind(command)
	output.Bind(command, &format)
	return command
}

func (s LabStatus) print(out io.Writer) error {
	state := "stopped"
	if s.Running {
		state = fmt.Sprintf("running, process %d", s.Process)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "lab\t%s\nhost\t%s, Proxmox VE %s\nproxmox\t%s\nfactory\t%s\nnodes\t%s\ntime scale\t%g\nseed\t%s\n",
		state, s.Host, s.Release, s.Proxmox, s.Factory, s.networks(), s.TimeScale, s.Seed)
	fmt.Fprintf(table, "kubernetes\t%s\n", s.releases())
	fmt.Fprintf(table, "log\t%s\ncalls of the host\t%s\ncalls of the nodes\t%s\n", s.Log, s.HostCalls, s.NodeCalls)
	return table.Flush()
}

// networks returns the networks of the nodes in words.
func (s LabStatus) networks() string {
	if len(s.Clusters) == 0 {
		return s.Network
	}
	var moved []string
	for _, cluster := range s.Clusters {
		moved = append(moved, fmt.Sprintf("%s (%s)", cluster.Lab, cluster.Own))
	}
	return strings.Join(moved, ", ")
}

// releases returns the releases of Kubernetes in words.
func (s LabStatus) releases() string {
	if len(s.Kubernetes) == 0 {
		return "none"
	}
	if len(s.Kubernetes) == 1 {
		return s.Kubernetes[0] + " for every version"
	}
	return strings.Join(s.Kubernetes, ", ")
}
