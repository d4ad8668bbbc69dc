package command

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	client "github.com/luthermonson/go-proxmox"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/terminal"
)

// Machines returns the command that lists the VMs of a lab.
func Machines(place Place) *cobra.Command {
	command := &cobra.Command{
		Use:     "machines" + place.Words().Usage,
		Short:   "List the VMs of the lab",
		Example: place.Words().example("machines"),
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			d, err := Running(place)
			if err != nil {
				return err
			}
			machines, err := machinesOf(command.Context(), d)
			if err != nil {
				return fmt.Errorf("list the VMs: %w", err)
			}
			return printMachines(command.OutOrStdout(), machines)
		},
	}
	place.Bind(command)
	return command
}

// listed is a VM in the resource list of a cluster.
type listed struct {
	VMID     int    `json:"vmid"`
	Name     string `json:"name"`
	Node     string `json:"node"`
	Status   string `json:"status"`
	Lock     string `json:"lock"`
	Template int    `json:"template"`
}

func machinesOf(ctx context.Context, d lab.Description) ([]listed, error) {
	// The lab has generated this certificate itself, on this machine.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	id, secret, _ := strings.Cut(d.Token, "=")
	c := client.NewClient(d.ProxmoxEndpoint()+"/api2/json", client.WithHTTPClient(&http.Client{Transport: transport}), client.WithAPIToken(id, secret))
	var machines []listed
	if err := c.Get(ctx, "/cluster/resources?type=vm", &machines); err != nil {
		return nil, err
	}
	slices.SortFunc(machines, func(a, b listed) int { return a.VMID - b.VMID })
	return machines, nil
}

func printMachines(out io.Writer, machines []listed) error {
	if len(machines) == 0 {
		_, err := fmt.Fprintln(out, "there is none")
		return err
	}
	table := terminal.Table{Header: []string{"VMID", "NAME", "HOST", "STATUS", "LOCK"}}
	for _, m := range machines {
		status := m.Status
		if m.Template != 0 {
			status = "template"
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(m.VMID), m.Name, m.Node, status, m.Lock})
	}
	return table.Write(out)
}
