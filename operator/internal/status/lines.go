package status

import (
	"io"
	"strings"
	"time"
)

// Line is a line of the text of a report: a label and a sentence.
type Line struct{ Label, Text string }

// Row is a machine in the table of a report, in words.
type Row struct {
	Machine
	// VMText, TalosText and KubernetesText are what the host, Talos and Kubernetes report.
	VMText, TalosText, KubernetesText string
	// Lack is what the machine needs; empty for one that is well.
	Lack string
}

// HostRow is a host in the table of a report, in words.
type HostRow struct {
	Host
	// Lack is what is wrong with the host; empty for one that is well.
	Lack string
}

// SystemRow is a system in the table of a report, in words.
type SystemRow struct {
	System
	// Guest is its number and status, and the host that it is on, if that is another one.
	Guest string
	// Lack is what is wrong with the system; empty for one that is well.
	Lack string
}

// CredentialRow is a credential in the table of a report, in words.
type CredentialRow struct {
	What, Age, Ends string
	// Rotation is the command of em-infra that renews or replaces it; empty if none does.
	Rotation string
	// Due reports whether it should be rotated now.
	Due bool
}

// Rows returns the machines in the order of the inventory.
func (r Report) Rows() []Row {
	var rows []Row
	for _, machine := range r.Machines {
		row := Row{Machine: machine, VMText: machine.vmText(io.Discard), TalosText: machine.talosText(io.Discard), KubernetesText: machine.kubernetesText(io.Discard)}
		row.Lack = machine.lacks(r.Networked)
		if row.Lack == "" && r.isOutsideEtcd(machine) {
			row.Lack = "it has not joined etcd"
		}
		rows = append(rows, row)
	}
	return rows
}

// HostRows returns the hosts in the order of the inventory.
func (r Report) HostRows() []HostRow {
	var rows []HostRow
	for _, host := range r.Hosts {
		rows = append(rows, HostRow{Host: host, Lack: host.lacks()})
	}
	return rows
}

// SystemRows returns the systems in the order of the inventory.
func (r Report) SystemRows() []SystemRow {
	var rows []SystemRow
	for _, system := range r.Systems {
		rows = append(rows, SystemRow{System: system, Guest: system.text(io.Discard), Lack: system.lacks()})
	}
	return rows
}

// CredentialRows returns the credentials in their order.
func (r Report) CredentialRows() []CredentialRow {
	var rows []CredentialRow
	for _, c := range r.Credentials {
		row := CredentialRow{What: c.title(), Age: "unknown", Ends: "never", Rotation: c.Rotation, Due: c.Due}
		if c.Made != nil {
			row.Age = age(r.Time.Sub(*c.Made))
		}
		switch {
		case c.Problem != "":
			row.Ends = "unknown"
		case c.Ends != nil:
			row.Ends = c.Ends.UTC().Format(time.DateOnly)
		}
		rows = append(rows, row)
	}
	return rows
}

// Facts returns what the text says below its tables: versions, etcd, state, copies. hide removes secrets from the text before it is
// divided into lines.
func (r Report) Facts(hide func(string) string) []Line {
	var text strings.Builder
	r.printFacts(&text)
	return lines(r.place.Complete(hide(text.String())))
}

// Findings returns problems, each with what to do. hide is as for [Report.Facts].
func (r Report) Findings(hide func(string) string) []Line {
	var text strings.Builder
	r.printFindings(&text)
	return lines(r.place.Complete(hide(text.String())))
}

// labelWidth is the width of the labels in the text of a report.
const labelWidth = 14

// lines reads the lines of a text. One without a label continues the line before it.
func lines(text string) []Line {
	var found []Line
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		at := min(labelWidth, len(line))
		label, rest := strings.TrimSpace(line[:at]), line[at:]
		if label == "" && len(found) > 0 {
			last := &found[len(found)-1]
			last.Text += " " + rest
			continue
		}
		found = append(found, Line{Label: label, Text: rest})
	}
	return found
}
