package inventory

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/versions"
)

// versions checks that Talos, Kubernetes, the contract and the machinery fit together, regardless of what the nodes run now.
func (c *checker) versions() {
	contracts, machinery, err := versions.Contracts()
	if err != nil {
		c.cluster(key("talos"), fault{What: "cannot be checked", Rule: err.Error(), Do: "build em-infra from a released machinery"})
		return
	}
	talos := c.inv.Cluster.Talos
	c.contract(talos, contracts, machinery)
	if talos.Version.IsZero() {
		return
	}
	if known := versions.Talos(); !known.Holds(talos.Version.Minor()) {
		c.cluster(key("talos", "version"), fault{
			What: "is a Talos that is " + known.Side(talos.Version.Minor()), Rule: "em-infra knows " + known.String(),
			Got: talos.Version.String(), Do: "choose a version of " + known.String(),
		})
		return
	}
	kubernetes := c.inv.Cluster.Kubernetes.Version
	if fits := versions.Kubernetes(talos.Version.Minor()); !kubernetes.IsZero() && !fits.Holds(kubernetes.Minor()) {
		c.cluster(key("kubernetes", "version"), fault{
			What: "is a Kubernetes that is " + fits.Side(kubernetes.Minor()) + " for Talos " + talos.Version.String(),
			Rule: "it supports " + fits.String(), Got: kubernetes.String(), Do: "choose a version of " + fits.String(),
		})
	}
}

func (c *checker) contract(talos Talos, known versions.Range, machinery versions.Version) {
	at := key("talos", "contract")
	contract := talos.Contract
	if contract.IsZero() || !c.inv.clusterSource.Has(at) {
		return
	}
	switch {
	case !talos.Version.IsZero() && contract.Compare(talos.Version.Contract()) > 0:
		c.cluster(at, fault{
			What: "is above talos.version", Rule: "the nodes run " + talos.Version.String(), Got: contract.String(),
			Do: "choose " + newest(talos.Version.Minor(), known).String() + " or, for a cluster that exists, what it was born with",
		})
	case !known.Holds(versions.Minor(contract)):
		c.cluster(at, fault{
			What: "cannot be generated", Rule: fmt.Sprintf("the machinery %s knows %s", machinery, known), Got: contract.String(),
			Do: fmt.Sprintf("choose %s for a new cluster, or what an existing one was born with", known.Last),
		})
	}
}

// newest returns a minor release, or the last of a range that ends before it.
func newest(minor versions.Minor, known versions.Range) versions.Minor {
	if minor.Compare(known.Last) > 0 {
		return known.Last
	}
	return minor
}
