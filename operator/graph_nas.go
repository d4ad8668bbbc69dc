package operator

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/graph"
)

// picturedNAS converts what a cluster has on a NAS into the picture's types.
func picturedNAS(storage inventory.Storage) *graph.NAS {
	nas := &graph.NAS{Name: storage.Endpoint, Pool: storage.Pool}
	if endpoint, err := url.Parse(storage.Endpoint); err == nil {
		nas.Name = cmp.Or(endpoint.Host, nas.Name)
	}
	for _, dataset := range storage.Datasets {
		nas.Things = append(nas.Things, graph.Thing{Name: dataset.Name, Facts: datasetFacts(dataset)})
	}
	if storage.ISCSI != nil {
		nas.Things = append(nas.Things, graph.Thing{Name: "iSCSI", Facts: []string{"listens on " + listed(storage.ISCSI.Listen)}})
	}
	return nas
}

func datasetFacts(dataset inventory.StorageDataset) []string {
	var facts []string
	if dataset.QuotaGiB > 0 {
		facts = append(facts, fmt.Sprintf("quota %d GiB", dataset.QuotaGiB))
	}
	if dataset.RefQuotaGiB > 0 {
		facts = append(facts, fmt.Sprintf("refquota %d GiB", dataset.RefQuotaGiB))
	}
	if share := dataset.NFS; share != nil {
		what := "NFS"
		if share.ReadOnly {
			what = "NFS, read-only"
		}
		facts = append(facts, what)
		for _, network := range share.Networks {
			facts = append(facts, "to "+network.String())
		}
	}
	return facts
}

func listed(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for at, address := range addresses {
		texts[at] = address.String()
	}
	return strings.Join(texts, ", ")
}
