package drift

import (
	"cmp"
	"fmt"
	"io"

	"github.com/em-infra/em-infra/internal/terminal"
)

// Report contains all differences, and what could not be read.
type Report struct {
	// Host is what differs on Proxmox VE.
	Host []Difference `json:"host"`
	// Nodes is what differs in what runs on the nodes.
	Nodes []Difference `json:"nodes"`
	// Upgrades is what up would do about versions that differ, a sentence each.
	Upgrades []string `json:"upgrades,omitempty"`
	// Unread is what could not be queried, a sentence each.
	Unread []string `json:"unread"`
}

// Found reports whether anything differs.
func (r Report) Found() bool { return len(r.Host)+len(r.Nodes) > 0 }

// WriteText writes a report as text: a line for each difference, with both values.
func (r Report) WriteText(out io.Writer) error {
	table := terminal.Table{Header: []string{"WHAT", "PROPERTY", "WANTED", "FOUND"}}
	for _, difference := range append(r.Host, r.Nodes...) {
		table.Rows = append(table.Rows, []string{difference.Subject, difference.Property, cmp.Or(difference.Want, "-"), cmp.Or(difference.Have, "-")})
	}
	if err := table.Write(out); err != nil {
		return err
	}
	for _, sentence := range r.Upgrades {
		fmt.Fprintf(out, "upgrade: %s\n", sentence)
	}
	for _, reason := range r.Unread {
		fmt.Fprintf(out, "not read: %s\n", reason)
	}
	if !r.Found() && len(r.Unread) == 0 {
		fmt.Fprintln(out, "no drift: the host and the nodes are as the inventory says")
	}
	return nil
}
