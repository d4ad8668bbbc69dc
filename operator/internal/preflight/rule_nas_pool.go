package preflight

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/truenas"
)

// The status of a pool that works: with all of its disks, or without some. With any other it does not (zpoolconcepts(7)).
const (
	statusOnline   = "ONLINE"
	statusDegraded = "DEGRADED"
)

// checkPool checks that the pool is there and works.
func checkPool(s *collector, storage inventory.Storage, nas NAS) {
	if nas.Pools.Err != nil {
		s.boxRefused("nas-pool", nas.Pools.Err)
		return
	}
	pools := nas.Pools.Value
	at := slices.IndexFunc(pools, func(p truenas.Pool) bool { return p.Name == storage.Pool })
	if at < 0 {
		s.fail("nas-pool", "correct storage.pool, or create it in Storage > Create Pool of TrueNAS", "TrueNAS has no pool %s, it has %s", storage.Pool, poolList(pools))
		return
	}
	switch pool := pools[at]; {
	case pool.Status == statusDegraded:
		s.warn("nas-pool", "replace the disk that has failed: see Storage in TrueNAS", "pool %s of TrueNAS is degraded", storage.Pool)
	case pool.Status != statusOnline:
		s.fail("nas-pool", "see Storage in TrueNAS, and bring its disks back", "pool %s of TrueNAS is %s", storage.Pool, strings.ToLower(pool.Status))
	case !pool.Healthy:
		s.warn("nas-pool", "see Storage in TrueNAS", "pool %s of TrueNAS has errors", storage.Pool)
	default:
		checkQuotas(s, storage, nas)
	}
}

// poolWorks reports whether a pool is there and online, degraded or not, or could not be read.
func (n NAS) poolWorks(name string) bool {
	return n.Pools.Err != nil || slices.ContainsFunc(n.Pools.Value, func(p truenas.Pool) bool {
		return p.Name == name && (p.Status == statusOnline || p.Status == statusDegraded)
	})
}

func poolList(pools []truenas.Pool) string {
	var names []string
	for _, pool := range pools {
		names = append(names, pool.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return listed(names)
}

// checkQuotas warns if the datasets cannot be filled up to their quotas: these reserve nothing.
func checkQuotas(s *collector, storage inventory.Storage, nas NAS) {
	root, there := nas.dataset(storage.Pool)
	if !there {
		return // reported by checkDatasets
	}
	promised, available := 0, int(root.Available>>30)
	for at, dataset := range storage.Datasets {
		if quota := quotaOf(dataset); quota > 0 && !isInQuota(storage, at) {
			exists, _ := nas.dataset(storage.Path(dataset))
			promised += max(0, quota-int(exists.Used>>30))
		}
	}
	if promised > available {
		s.warn("nas-pool", "add disks to the pool, or lower the quotas; they reserve nothing", "pool %s of TrueNAS has %d GiB free, the quotas promise %d GiB more than is used",
			storage.Pool, available, promised)
		return
	}
	s.ok("nas-pool", "pool %s of TrueNAS is healthy and has %d GiB free", storage.Pool, available)
}

// quotaOf returns the limit of a dataset in GiB; 0 for none.
func quotaOf(dataset inventory.StorageDataset) int { return max(dataset.QuotaGiB, dataset.RefQuotaGiB) }

// isInQuota reports whether a dataset of the list lies in another one with a quota for all below it.
func isInQuota(storage inventory.Storage, at int) bool {
	return slices.ContainsFunc(storage.Datasets[:at], func(above inventory.StorageDataset) bool {
		return above.QuotaGiB > 0 && strings.HasPrefix(storage.Datasets[at].Name, above.Name+"/")
	})
}

// checkDatasets reports which datasets a run would take over, and refuses those that it cannot use. Without the pool there is none.
func checkDatasets(s *collector, storage inventory.Storage, nas NAS) {
	if nas.Datasets.Err != nil {
		s.boxRefused("nas-dataset", nas.Datasets.Err)
		return
	}
	if !nas.poolWorks(storage.Pool) {
		return // reported by checkPool
	}
	if _, there := nas.dataset(storage.Pool); !there {
		s.fail("nas-dataset", "see Datasets in TrueNAS, then run it again", "TrueNAS does not list %s, the root dataset of the pool", storage.Pool)
		return
	}
	mark, ours := len(s.checks), 0
	for _, wanted := range storage.Datasets {
		name := storage.Path(wanted)
		found, there := nas.dataset(name)
		switch {
		case !there:
		case found.IsVolume:
			s.fail("nas-dataset", "give the dataset another name in cluster.yaml", "%s on TrueNAS is a volume, no filesystem", name)
		case found.IsLocked:
			s.fail("nas-dataset", "unlock it in Datasets of TrueNAS", "dataset %s on TrueNAS is locked", name)
		case found.Owner == nas.Owner || slices.Contains(nas.Known, name):
			ours++
		case found.Owner != "":
			s.warn("nas-dataset", "if that stack still has it, give the dataset another name in cluster.yaml", "dataset %s on TrueNAS belongs to %s: up would change it to what cluster.yaml says", name, found.Owner)
		default:
			s.warn("nas-dataset", "nothing if it is to be adopted; otherwise give the dataset another name in cluster.yaml",
				"dataset %s is on TrueNAS already: up changes it to what cluster.yaml says, and never deletes it", name)
		}
	}
	if s.sound(mark) {
		s.ok("nas-dataset", "%s: %d to create, %d ours", counted(len(storage.Datasets), "dataset"), len(storage.Datasets)-ours, ours)
	}
}
