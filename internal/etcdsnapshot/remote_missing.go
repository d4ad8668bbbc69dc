package etcdsnapshot

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/em-infra/em-infra/internal/retention"
)

// Missing returns the local snapshots that the bucket lacks and that the rule would keep there, newest first. It leaves out those of
// another cluster, and those without a description. Those of [Remote.Spared] count as kept.
func (r Remote) Missing(ctx context.Context, local []Snapshot) ([]Snapshot, error) {
	there, err := r.Names(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := r.lackingIn(there, local)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	ours, err := r.own(ctx)
	if err != nil {
		return nil, err
	}
	all := namesOf(ours)
	for name := range missing {
		all = append(all, name)
	}
	slices.SortFunc(all, retention.NewestFirst)
	excess := r.Keep.Excess(all)
	var wanted []Snapshot
	for _, name := range all {
		if snapshot, isMissing := missing[name]; isMissing && (!slices.Contains(excess, name) || slices.Contains(r.Spared, snapshot.Name)) {
			wanted = append(wanted, snapshot)
		}
	}
	return wanted, nil
}

// SendMissing copies what [Remote.Missing] returns into the bucket, and then deletes there what the rule does not keep. It returns the
// names of what it has copied, with an error as well: the next call goes on from there.
func (r Remote) SendMissing(ctx context.Context, local []Snapshot) (sent []string, err error) {
	missing, err := r.Missing(ctx, local)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	for _, snapshot := range missing {
		err := r.put(ctx, snapshot)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the rule has deleted it here meanwhile
		}
		if err != nil {
			return sent, err
		}
		sent = append(sent, snapshot.Name)
	}
	_, err = r.Prune(ctx)
	return sent, err
}

// lackingIn returns the snapshots of this cluster that have none of these names.
func (r Remote) lackingIn(there []retention.Name, local []Snapshot) (map[retention.Name]Snapshot, error) {
	lacking := map[retention.Name]Snapshot{}
	for _, snapshot := range local {
		if !r.owns(snapshot) || snapshot.Reason == Scheduled { // the latter came from the bucket
			continue
		}
		name, err := retention.Parse(snapshot.Name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(there, name) {
			lacking[name] = snapshot
		}
	}
	return lacking, nil
}

// owns reports whether a snapshot is one of this cluster, by its description.
func (r Remote) owns(snapshot Snapshot) bool {
	return snapshot.Cluster.Name == r.Cluster && snapshot.Contents != (Contents{})
}

// own returns the snapshots in the bucket that the rule is for, newest first: those of this cluster by their descriptions, and those that
// the cluster itself has stored, if [Remote.OfPods] says so.
func (r Remote) own(ctx context.Context) (ours []stored, err error) {
	all, err := r.stored(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		isOurs := r.OfPods
		if one.name.Kind != Scheduled {
			snapshot, err := r.read(ctx, one.name)
			if err != nil {
				return nil, err
			}
			isOurs = r.owns(snapshot)
		}
		if isOurs {
			ours = append(ours, one)
		}
	}
	return ours, nil
}
