package risk

import "fmt"

// Restore is a restore of etcd in the same run.
type Restore struct {
	// Snapshot is its name.
	Snapshot string
	// Revision that etcd goes back to.
	Revision int64
	// On is the control plane on which etcd starts from the snapshot.
	On string
	// Emptied are the control planes whose data of etcd is deleted.
	Emptied []string
}

// means returns the sentence about the consequence of the restore.
func (r Restore) means() string {
	return fmt.Sprintf("etcd is restored from %s: what was written after revision %d is lost", r.Snapshot, r.Revision)
}

// addRestore adds the control planes whose data is deleted.
func (a *Assessment) addRestore(r *Restore) {
	if r == nil {
		return
	}
	a.Notes = append(a.Notes, r.means())
	for _, name := range r.Emptied {
		emptied := Finding{
			Kind: Change, Subject: name, rank: rankControlPlane, What: []string{"its data of etcd is deleted, and it reboots"},
			Needs: []Permission{{Flag: FlagReplace, Subject: name}},
		}
		if name == r.On {
			emptied.Means = []string{"etcd starts on it from the snapshot"}
		} else {
			emptied.Means = []string{"it joins the restored etcd"}
		}
		a.add(emptied)
	}
}
