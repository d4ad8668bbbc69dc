package inventory

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/gendata"
)

// oldestContract is the first contract that the machinery can generate (TalosVersion1_0 in its package config).
var oldestContract = Contract{Major: 1, Minor: 0}

// versions checks that Talos, Kubernetes, the contract and the machinery fit together. The machinery in go.mod is the one
// inside the provider; it generates configurations for its own version and older ones.
func (c *checker) versions() {
	var machinery Version
	if err := machinery.UnmarshalText([]byte(gendata.VersionTag)); err != nil {
		c.cluster(key("talos"), fault{
			What: "cannot be checked", Rule: "the machinery calls itself " + gendata.VersionTag,
			Do: "build em-infra from a released machinery",
		})
		return
	}
	talos := c.inv.Cluster.Talos
	c.contract(talos, machinery)
	if talos.Version.IsZero() {
		return
	}
	known := supportedTalos(machinery.Contract())
	if !known.holds(talos.Version.Contract()) {
		c.cluster(key("talos", "version"), fault{
			What: "is a Talos that is " + known.side(talos.Version.Contract()),
			Rule: "the machinery " + gendata.VersionTag + " knows " + known.String(), Got: talos.Version.String(),
			Do: "choose a version of " + known.String(),
		})
		return
	}
	kubernetes := c.inv.Cluster.Kubernetes.Version
	if fits := supportedKubernetes(talos.Version); !kubernetes.IsZero() && !fits.holds(kubernetes.Contract()) {
		c.cluster(key("kubernetes", "version"), fault{
			What: "is a Kubernetes that is " + fits.side(kubernetes.Contract()) + " for Talos " + talos.Version.String(),
			Rule: "it supports " + fits.String(), Got: kubernetes.String(), Do: "choose a version of " + fits.String(),
		})
	}
}

func (c *checker) contract(talos Talos, machinery Version) {
	at := key("talos", "contract")
	contract := talos.Contract
	if contract.IsZero() || !c.inv.clusterSource.Has(at) {
		return
	}
	switch {
	case !talos.Version.IsZero() && contract.Compare(talos.Version.Contract()) > 0:
		c.cluster(at, fault{
			What: "is above talos.version", Rule: "the nodes run " + talos.Version.String(), Got: contract.String(),
			Do: "choose " + talos.Version.Contract().String() + " or, for a cluster that exists, what it was born with",
		})
	case contract.Compare(machinery.Contract()) > 0 || contract.Compare(oldestContract) < 0:
		c.cluster(at, fault{What: "cannot be generated", Rule: fmt.Sprintf("the machinery %s knows %s to %s", gendata.VersionTag,
			oldestContract, machinery.Contract()), Got: contract.String(), Do: "choose one of these"})
	}
}

// minors are a range of major.minor versions, both ends included. The zero value is empty.
type minors struct{ first, last Contract }

func (m minors) holds(version Contract) bool {
	return m != minors{} && version.Compare(m.first) >= 0 && version.Compare(m.last) <= 0
}

// side returns on which side of the range a version is.
func (m minors) side(version Contract) string {
	if version.Compare(m.first) < 0 {
		return "too old"
	}
	return "too new"
}

func (m minors) String() string { return m.first.String() + " to " + m.last.String() }

// extended returns the range with one more version at its end.
func (m minors) extended(version Contract) minors {
	if m == (minors{}) {
		m.first = version
	}
	m.last = version
	return m
}

// lastKubernetesMinor is higher than every Kubernetes that a machinery supports.
const lastKubernetesMinor = 99

// supportedKubernetes queries the machinery's compatibility package for each minor version, since it exports no list.
func supportedKubernetes(talos Version) minors {
	var supported minors
	target, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: talos.String()})
	if err != nil {
		return supported
	}
	for minor := range uint64(lastKubernetesMinor) {
		candidate := Contract{Major: 1, Minor: minor}
		version, err := compatibility.ParseKubernetesVersion(candidate.String() + ".0")
		if err == nil && version.SupportedWith(target) == nil {
			supported = supported.extended(candidate)
		}
	}
	return supported
}

// supportedTalos returns the Talos versions for which the machinery supports a Kubernetes.
func supportedTalos(newest Contract) minors {
	var supported minors
	for minor := range newest.Minor + 1 {
		candidate := Contract{Major: newest.Major, Minor: minor}
		var version Version
		if version.UnmarshalText([]byte(candidate.String()+".0")) == nil && supportedKubernetes(version) != (minors{}) {
			supported = supported.extended(candidate)
		}
	}
	return supported
}
