package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/terminal"
)

// WriteText writes a report as text: a table of the machines, a line for each other fact, and what to do about each problem.
func (r Report) WriteText(out io.Writer) error {
	table := r.table(out)
	if r.Cluster == "" {
		table = r.hostsTable(out)
	}
	tables := []terminal.Table{table, r.systemsTable(out), r.credentialsTable(out)}
	for _, table := range tables {
		if len(table.Rows) == 0 {
			continue
		}
		if err := table.Write(out); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	var text strings.Builder
	r.printFacts(&text)
	r.printFindings(&text)
	_, err := io.WriteString(out, r.place.Complete(text.String()))
	return err
}

func (r Report) table(out io.Writer) terminal.Table {
	table := terminal.Table{Header: []string{"MACHINE", "ROLE", "HOST", "VM", "TALOS", "KUBERNETES"}}
	for _, machine := range r.Machines {
		table.Rows = append(table.Rows, []string{
			machine.Name, string(machine.Role), machine.Host, machine.vmText(out), machine.talosText(out), machine.kubernetesText(out),
		})
	}
	return table
}

func (r Report) hostsTable(out io.Writer) terminal.Table {
	table := terminal.Table{Header: []string{"HOST", "STATUS"}}
	for _, host := range r.Hosts {
		table.Rows = append(table.Rows, []string{host.Name, toned(out, host.lacks() == "", host.Status)})
	}
	return table
}

// toned returns a word in the colour of its health.
func toned(out io.Writer, well bool, text string) string {
	if well {
		return terminal.Paint(out, terminal.Good, text)
	}
	return terminal.Paint(out, terminal.Bad, text)
}

func (r Report) printFacts(out io.Writer) {
	if versions := r.Versions(); versions != "" {
		fmt.Fprintf(out, "versions      %s\n", versions)
	}
	if members := r.memberTexts(); len(members) > 0 {
		fmt.Fprintf(out, "etcd          %s\n", strings.Join(members, ", "))
	}
	if certificates := r.certificateTexts(); len(certificates) > 0 && len(r.Credentials) == 0 {
		fmt.Fprintf(out, "certificates  %s\n", strings.Join(certificates, ", "))
	}
	for _, machine := range r.Machines {
		if text := machine.agentText(); text != "" {
			fmt.Fprintf(out, "guest agent   %s\n", text)
		}
	}
	fmt.Fprintf(out, "state         %s\n", r.stateText())
	if text := r.Copies.text(r.Time); text != "" {
		fmt.Fprintf(out, "copies        %s\n", text)
	}
	if backups := r.Copies.State; backups != nil {
		fmt.Fprintf(out, "backups       %s\n", backups.text(r.Time))
	}
}

func (r Report) memberTexts() []string {
	var texts []string
	for _, member := range r.Members {
		var remarks []string
		if !r.isMachine(member) {
			remarks = append(remarks, "at "+member.Address+", no machine of the inventory")
		}
		switch {
		case member.Problem != "":
			remarks = append(remarks, member.Problem)
		case member.Learner:
			remarks = append(remarks, "learner")
		}
		text := cmp.Or(member.Name, "a member without a name")
		if len(remarks) > 0 {
			text += " (" + strings.Join(remarks, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// isMachine reports whether a member of etcd runs on a machine of the inventory.
func (r Report) isMachine(member nodeops.EtcdMember) bool {
	return slices.ContainsFunc(r.Machines, func(m Machine) bool { return m.Name == member.Name || m.Address.String() == member.Address })
}

func (r Report) certificateTexts() []string {
	var texts []string
	for _, certificate := range r.Certificates {
		texts = append(texts, fmt.Sprintf("%s for %d days", certificate.Name, certificate.DaysLeft(r.Time)))
	}
	return texts
}

func (r Report) stateText() string {
	if r.State.Resources == 0 {
		return "empty: nothing was brought up"
	}
	text := fmt.Sprintf("%d resources", r.State.Resources)
	if last := r.State.LastUpdate; last != nil {
		text += fmt.Sprintf(", last %s %s %s", last.Kind, last.Result, last.Ended.Local().Format(time.DateTime))
	}
	return text
}

// printGuests prints the problems of machines, hosts and systems that Proxmox VE and Talos report.
func (r Report) printGuests(out io.Writer) {
	for _, machine := range r.Machines {
		if remedy := machine.vmRemedy(); remedy != "" {
			fmt.Fprintf(out, "VM            %s: %s\n", machine.Name, remedy)
		}
		if machine.Node != nil && len(machine.Node.Unmet) > 0 {
			fmt.Fprintf(out, "Talos         %s: %s\n", machine.Name, strings.Join(machine.Node.Unmet, ", "))
		}
		if !machine.Known && machine.VM != absent {
			fmt.Fprintf(out, "not in state  %s: the state does not know VM %d\n", machine.Name, machine.VMID)
		}
	}
	for _, host := range r.Hosts {
		if remedy := host.remedy(); remedy != "" {
			fmt.Fprintf(out, "host          %s: %s\n", host.Name, remedy)
		}
	}
	for _, system := range r.Systems {
		if remedy := system.remedy(); remedy != "" {
			fmt.Fprintf(out, "system        %s: %s\n", system.Name, remedy)
		}
	}
}

// printFindings prints problems, each with what to do.
func (r Report) printFindings(out io.Writer) {
	r.printGuests(out)
	for _, machine := range r.Unregistered() {
		fmt.Fprintf(out, "Node          %s: Kubernetes has no Node of its name: `em-infra up` restarts its kubelet, which registers it\n", machine.Name)
	}
	for _, operation := range r.State.Pending {
		fmt.Fprintf(out, "unfinished    %s: `em-infra up` settles it\n", operation)
	}
	for _, machine := range r.Machines {
		for _, problem := range machine.diskProblems() {
			fmt.Fprintf(out, "disks         %s: %s\n", machine.Name, problem)
		}
		machine.printGrowth(out)
	}
	for _, lock := range r.State.Locks {
		if lock.Stale {
			fmt.Fprintf(out, "lock          of %s, which is dead: `em-infra up` or `em-infra state unlock` removes it\n", lock.Owner())
			continue
		}
		fmt.Fprintf(out, "lock          of %s: a run works on this stack\n", lock.Owner())
	}
	for _, certificate := range r.Certificates {
		if certificate.IsDue(r.Time) {
			fmt.Fprintf(out, "certificate   of the %s ends in %d days: `em-infra up` renews it\n", certificate.Name, certificate.DaysLeft(r.Time))
		}
	}
	r.printCredentials(out)
	r.Copies.printFindings(out, r.Time)
	for _, iso := range r.LostISOs {
		fmt.Fprintf(out, "ISO           %s is not on %s, and machines that are made there do not start: `em-infra up` downloads it\n", iso.Volume, iso.Host)
	}
	for _, machine := range r.Machines {
		if other := machine.otherImage(); other != nil {
			fmt.Fprintf(out, "image         %s\n", other)
		}
	}
	for _, machine := range r.Machines {
		if other := machine.otherKubernetes(); other != "" {
			fmt.Fprintf(out, "Kubernetes    %s\n", other)
		}
	}
	for _, orphan := range r.Orphans {
		fmt.Fprintf(out, "orphan        %s\n              → %s\n", orphan.What, orphan.remedy())
	}
	for _, reason := range r.Unclear {
		fmt.Fprintf(out, "not known     %s\n", reason)
	}
	r.printUnread(out)
}
