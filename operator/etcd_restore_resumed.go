package operator

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
)

// resumed returns the etcdRestoration that an earlier run has begun. One that has not touched anything is forgotten if another snapshot is
// asked for, if the machine that it was to replace still has its data, or if an up starts control planes that have all data. One that has
// emptied the control planes takes another snapshot if that is asked for and etcd has no data: the first snapshot may be damaged.
func (s *restorer) resumed(r *etcdRestoration, begun etcdrestore.Note) (*etcdRestoration, error) {
	isOther := s.asked != nil && s.asked.From != "" && s.asked.From != begun.Snapshot
	data := r.seen.DataOf(begun.On)
	switch {
	case begun.Emptied && isOther && (data == etcdrestore.None || data == etcdrestore.Unconfigured):
		begun.Snapshot = s.asked.From
	case begun.Emptied && isOther:
		return nil, refused(s.cluster.place.CompleteError(fmt.Errorf("a restore of etcd from %s was begun, and %s may have its data: run `em-infra etcd restore` without --from first, which ends it", begun.Snapshot, begun.On)))
	case isOther && len(begun.Ordered) > 0: // the note of the new restore replaces that one, which stays until then
		r.note.Ordered, r.seen.Ordered = begun.Ordered, begun.Ordered
		return r, nil
	case isOther, begun.Replaces && !begun.Emptied && data == etcdrestore.Some:
		if s.plan != nil {
			return r, nil
		}
		return r, s.restoreNotes().End()
	case !slices.ContainsFunc(r.controlPlanes(), func(n rolling.Node) bool { return n.Name == begun.On }):
		return nil, refused(s.cluster.place.CompleteError(fmt.Errorf("a restore of etcd from %s was begun on %s, which is no control plane of nodes.yaml any more: put it back there, run `em-infra etcd restore`, which ends it, and take it out then", begun.Snapshot, begun.On)))
	}
	if !begun.Emptied && !begun.Replaces { // control planes may have data of the time before, and a quorum
		if s.isForgotten(r, begun) {
			s.tellRestore("the restore from %s that was begun has deleted nothing, and most control planes are only switched off: they are started instead", begun.Snapshot)
			return r, s.restoreNotes().End()
		}
		r.seen.Ordered = begun.Ordered
		if err := s.checkSilent(r); err != nil {
			return nil, err
		}
	}
	r.note, r.seen.Ordered = begun, begun.Ordered
	s.recovered(fmt.Sprintf("the restore of etcd from %s that was begun at %s goes on", begun.Snapshot, begun.Begun.UTC().Format("2006-01-02 15:04:05 UTC")))
	return r, nil
}

// isForgotten reports whether an up starts the control planes, most of which are off, instead of going on with a restore that has touched
// nothing: with all of their data, etcd works again.
func (s *restorer) isForgotten(r *etcdRestoration, begun etcdrestore.Note) bool {
	vmids := s.vmids()
	return s.asked == nil && len(begun.Ordered) == 0 && r.seen.StillRun(vmids) == nil && r.seen.MajorityIsOff(vmids) != nil
}
