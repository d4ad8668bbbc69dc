package status

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Copies are the newest copies of the cluster.
type Copies struct {
	// Snapshot is the newest snapshot of etcd on this machine; absent if there is none.
	Snapshot *Copy `json:"snapshot,omitempty"`
	// Bucket are the copies in the bucket of the inventory; absent if it names none.
	Bucket *BucketCopies `json:"bucket,omitempty"`
	// State are the backups of the state in the bucket with it; absent if it is in none.
	State *StateBackups `json:"stateBackups,omitempty"`
	// Kit is the newest recovery kit; absent if there is none.
	Kit *Copy `json:"kit,omitempty"`
	// Outdated reports whether the machine secrets were changed after the kit was made.
	Outdated bool `json:"outdated,omitempty"`
	// Expected reports whether their absence is a finding. Those of a rehearsal are not missed.
	Expected bool `json:"-"`
}

// BucketCopies are the newest copies in a bucket.
type BucketCopies struct {
	// URL of the bucket, without parameters.
	URL string `json:"url"`
	// Snapshot is the newest snapshot of etcd; absent if there is none, or if the bucket does not say what it has.
	Snapshot *Copy `json:"snapshot,omitempty"`
	// Missing is the number of snapshots on this machine that the bucket lacks and should have.
	Missing int `json:"missing,omitempty"`
	// Scheduled is the newest snapshot that the cluster itself has stored there; absent if there is none.
	Scheduled *Copy `json:"scheduled,omitempty"`
	// Due is when the schedule of addons.etcdBackup has the next one after it, or after now if there is none; absent without the addon.
	Due *time.Time `json:"due,omitempty"`
	// Problem is why the bucket does not say what it has, in a sentence that ends with what to do; empty if it does.
	Problem string `json:"problem,omitempty"`
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

// lateness is how long after its time a snapshot by schedule is missed: a run may take half an hour, and is repeated twice.
const lateness = 2 * time.Hour

// text returns the ages of the copies; empty if there are none and none are missed.
func (c Copies) text(now time.Time) string {
	if !c.Expected && c.Snapshot == nil && c.Kit == nil && c.Bucket == nil {
		return ""
	}
	texts := []string{c.Snapshot.text("snapshot of etcd", now)}
	if c.Bucket != nil {
		texts = append(texts, c.Bucket.text(now))
	}
	return strings.Join(append(texts, c.Kit.text("recovery kit", now)), ", ")
}

func (b *BucketCopies) text(now time.Time) string {
	if b.Problem != "" {
		return "unknown in the bucket"
	}
	if b.Snapshot == nil {
		return "none in the bucket"
	}
	return b.Snapshot.text("in the bucket", now)
}

func (c *Copy) text(what string, now time.Time) string {
	if c == nil {
		return "no " + what
	}
	return what + " " + age(now.Sub(c.Taken)) + " old"
}

func (b *BucketCopies) printFinding(out io.Writer, now time.Time) {
	switch {
	case b.Problem != "":
		fmt.Fprintf(out, "snapshot      %s\n", b.Problem)
	case b.Missing > 0:
		fmt.Fprintf(out, "snapshot      %d of etcd on this machine are missing in %s: `em-infra up` and `em-infra etcd snapshot` copy them\n", b.Missing, b.URL)
	case b.missed(out, now):
	case b.Snapshot == nil:
		fmt.Fprintf(out, "snapshot      %s has none of etcd: `em-infra etcd snapshot` takes one\n", b.URL)
	case now.Sub(b.Snapshot.Taken) >= oldSnapshot:
		fmt.Fprintf(out, "snapshot      the newest one of etcd in %s is %s old: `em-infra etcd snapshot` takes one\n", b.URL, age(now.Sub(b.Snapshot.Taken)))
	}
}

// missed prints that the cluster does not store what its schedule says, and reports whether it has printed that.
func (b *BucketCopies) missed(out io.Writer, now time.Time) bool {
	const form = "2006-01-02 15:04 UTC"
	switch {
	case b.Due == nil:
		return false
	case b.Scheduled == nil:
		fmt.Fprintf(out, "snapshot      the cluster itself has stored none in %s yet, the first one is due at %s: `kubectl -n etcd-backup create job --from=cronjob/etcd-backup first` takes one\n",
			b.URL, b.Due.UTC().Format(form))
		return true
	case now.Sub(*b.Due) >= lateness:
		fmt.Fprintf(out, "snapshot      the newest one that the cluster itself has stored in %s is %s old, and one was due at %s: see `kubectl -n etcd-backup get jobs`\n",
			b.URL, age(now.Sub(b.Scheduled.Taken)), b.Due.UTC().Format(form))
		return true
	default:
		return false
	}
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
	if c.Bucket != nil {
		c.Bucket.printFinding(out, now)
	}
	if c.State != nil {
		c.State.printFinding(out)
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
