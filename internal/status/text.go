package status

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Print writes a report for a person: a table of the machines, a line for each other thing, and what to do about what
// is not well.
func (r Report) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MACHINE\tROLE\tVM\tTALOS\tKUBERNETES")
	for _, machine := range r.Machines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", machine.Name, machine.Role, machine.vmText(), machine.talosText(), machine.kubernetesText())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	r.printFacts(out)
	r.printFindings(out)
	return nil
}

func (m Machine) vmText() string {
	text := fmt.Sprintf("%d on %s %s", m.VMID, m.Host, cmp.Or(m.VM, "not asked"))
	if !m.Known && m.VM != "absent" {
		text += ", not in the state"
	}
	return text
}

func (m Machine) talosText() string {
	switch {
	case m.Node == nil:
		return "-"
	case m.Node.Talos == "":
		return strings.Join(m.Node.Unmet, ", ")
	case len(m.Node.Unmet) > 0:
		return fmt.Sprintf("%s %s, waits for %s", m.Node.Talos, m.Node.Stage, strings.Join(m.Node.Unmet, ", "))
	default:
		return m.Node.Talos + " " + m.Node.Stage
	}
}

func (m Machine) kubernetesText() string {
	if m.Kubernetes == nil {
		return "-"
	}
	text := "NotReady"
	if m.Kubernetes.Ready {
		text = "Ready"
	}
	if m.Kubernetes.Cordoned {
		text += ", cordoned"
	}
	text += " " + m.Kubernetes.Kubelet
	if m.Kubernetes.GPUs > 0 {
		text += fmt.Sprintf(", %d GPU", m.Kubernetes.GPUs)
	}
	return text
}

func (r Report) printFacts(out io.Writer) {
	if members := r.memberTexts(); len(members) > 0 {
		fmt.Fprintf(out, "etcd          %s\n", strings.Join(members, ", "))
	}
	if certificates := r.certificateTexts(); len(certificates) > 0 {
		fmt.Fprintf(out, "certificates  %s\n", strings.Join(certificates, ", "))
	}
	for _, machine := range r.Machines {
		if text := machine.agentText(); text != "" {
			fmt.Fprintf(out, "guest agent   %s\n", text)
		}
	}
	fmt.Fprintf(out, "state         %s\n", r.stateText())
}

func (r Report) memberTexts() []string {
	var texts []string
	for _, member := range r.Members {
		switch {
		case member.Problem != "":
			texts = append(texts, fmt.Sprintf("%s (%s)", member.Name, member.Problem))
		case member.Learner:
			texts = append(texts, member.Name+" (learner)")
		default:
			texts = append(texts, member.Name)
		}
	}
	return texts
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

// printFindings says what is not as it should be, each with what to do.
func (r Report) printFindings(out io.Writer) {
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
			fmt.Fprintf(out, "lock          of process %d on %s, which is dead: `em-infra up` or `em-infra state unlock` removes it\n", lock.PID, lock.Hostname)
			continue
		}
		fmt.Fprintf(out, "lock          of process %d on %s: a run works on this stack\n", lock.PID, lock.Hostname)
	}
	for _, certificate := range r.Certificates {
		if certificate.IsDue(r.Time) {
			fmt.Fprintf(out, "certificate   of the %s ends in %d days (F33): `em-infra up` renews it\n", certificate.Name, certificate.DaysLeft(r.Time))
		}
	}
	for _, iso := range r.LostISOs {
		fmt.Fprintf(out, "ISO           %s is not on %s, and machines that are made there do not start: `em-infra up` downloads it\n", iso.Volume, iso.Host)
	}
	for _, machine := range r.Machines {
		if other := machine.otherImage(); other != nil {
			fmt.Fprintf(out, "image         %s\n", other)
		}
	}
	for _, orphan := range r.Orphans {
		fmt.Fprintf(out, "orphan        %s\n              → on %s, if nobody needs it: %s\n", orphan.What, orphan.Host, orphan.Remove)
	}
	for _, reason := range r.Unread {
		fmt.Fprintf(out, "not read      %s\n", reason)
	}
}
