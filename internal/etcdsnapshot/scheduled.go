package etcdsnapshot

import (
	"regexp"
	"time"

	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/retention"
)

// Scheduled is the reason of the snapshots that the cluster itself has stored in the bucket, by talos-backup. They have no description.
const Scheduled = "scheduled"

// namedByPod matches the end of the names that talos-backup gives: CLUSTER-TIME.snap.age, with .zst before the last ending if it is
// compressed (talos-backup v0.1.0-beta.3 pkg/talos, pkg/encryption, and pkg/compression of a later commit).
var namedByPod = regexp.MustCompile(`^(.+)-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))\.snap(?:\.zst)?\.age$`)

// ofPods returns the snapshots that pods of a cluster have stored, among the objects of a bucket, which are sorted. Two of one second get
// different names, in the order of their keys.
func ofPods(cluster string, objects []object.Object) (all []stored) {
	turns := map[retention.Name]int{}
	for _, one := range objects {
		parts := namedByPod.FindStringSubmatch(one.Key)
		if parts == nil || parts[1] != cluster {
			continue
		}
		taken, err := time.Parse(time.RFC3339, parts[2])
		if err != nil {
			continue // a day that does not exist: it is not theirs
		}
		name := retention.Name{Taken: taken.UTC(), Kind: Scheduled, Turn: 1}
		turns[name]++
		name.Turn = turns[name]
		all = append(all, stored{name, one.Key})
	}
	return all
}
