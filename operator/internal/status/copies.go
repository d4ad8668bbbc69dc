package status

import (
	"fmt"
	"io"
	"time"
)

// Copies are the newest copies of the cluster on this machine.
type Copies struct {
	// Snapshot is the newest snapshot of etcd; absent if there is none.
	Snapshot *Copy `json:"snapshot,omitempty"`
	// Kit is the newest recovery kit; absent if there is none.
	Kit *Copy `json:"kit,omitempty"`
	// Outdated reports whether the machine secrets were changed after the kit was made.
	Outdated bool `json:"outdated,omitempty"`
	// Expected reports whether their absence is a finding. Those of a rehearsal are not missed.
	Expected bool `json:"-"`
}

// Copy is one copy.
type Copy struct {
	// Name of the copy.
	Name string `json:"name"`
	// Taken is when, to the second.
	Taken time.Time `json:"taken"`
}

// From these ages on a copy gets a warning: what was changed since would be lost with the cluster.
const (
	oldSnapshot = 7 * 24 * time.Hour
	oldKit      = 90 * 24 * time.Hour
)

// text returns the ages of the copies; empty if there are none and none are missed.
func (c Copies) text(now time.Time) string {
	if !c.Expected && c.Snapshot == nil && c.Kit == nil {
		return ""
	}
	return c.Snapshot.text("snapshot of etcd", now) + ", " + c.Kit.text("recovery kit", now)
}

func (c *Copy) text(what string, now time.Time) string {
	if c == nil {
		return "no " + what
	}
	return what + " " + age(now.Sub(c.Taken)) + " old"
}

// age returns a duration in the largest unit of which there are two.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", max(0, int(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// printFindings prints what is missing or old, and what to do.
func (c Copies) printFindings(out io.Writer, now time.Time) {
	if !c.Expected {
		return
	}
	if c.Snapshot != nil && now.Sub(c.Snapshot.Taken) >= oldSnapshot {
		fmt.Fprintf(out, "snapshot      the newest one of etcd is %s old: `em-infra etcd snapshot` takes one\n", age(now.Sub(c.Snapshot.Taken)))
	}
	switch {
	case c.Kit == nil:
		fmt.Fprintln(out, "recovery kit  there is none for the day on which this computer is lost: `em-infra kit create` makes one")
	case c.Outdated:
		fmt.Fprintf(out, "recovery kit  %s is older than the machine secrets: `em-infra kit create` makes a new one\n", c.Kit.Name)
	case now.Sub(c.Kit.Taken) >= oldKit:
		fmt.Fprintf(out, "recovery kit  %s is %s old: `em-infra kit create` makes a new one\n", c.Kit.Name, age(now.Sub(c.Kit.Taken)))
	}
}
