package versions

import (
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/gendata"
)

// release is what is known about a minor release of Talos.
type release struct {
	// latest is its newest patch release.
	latest Version
	// kubernetes is the default Kubernetes of that patch release, and so the newest that it was tested with.
	kubernetes Version
	// supports are the minor releases of Kubernetes that it supports; empty if the machinery knows them.
	supports Range
	// upgradesFrom is the oldest minor release that its installer accepts on the machine; zero if the machinery knows it.
	upgradesFrom Minor
}

// releases of Talos, oldest first. Later patch releases of these minors are supported, too; with a newer one in this table, the way to the next minor
// leads over that one. Sources: tags of siderolabs/talos and DefaultKubernetesVersion in their pkg/machinery/constants/constants.go; for v1.14 the
// release page, and pkg/machinery/compatibility/talos114 of v1.14.0-rc.1. The ranges of v1.13 are those of talos113 in v1.13.9.
var releases = []release{
	{latest: must("v1.2.9"), kubernetes: must("v1.25.5")},
	{latest: must("v1.3.7"), kubernetes: must("v1.26.3")},
	{latest: must("v1.4.8"), kubernetes: must("v1.27.4")},
	{latest: must("v1.5.6"), kubernetes: must("v1.28.3")},
	{latest: must("v1.6.8"), kubernetes: must("v1.29.7")},
	{latest: must("v1.7.7"), kubernetes: must("v1.30.5")},
	{latest: must("v1.8.4"), kubernetes: must("v1.31.4")},
	{latest: must("v1.9.6"), kubernetes: must("v1.32.4")},
	{latest: must("v1.10.9"), kubernetes: must("v1.33.6")},
	{latest: must("v1.11.6"), kubernetes: must("v1.34.1")},
	{latest: must("v1.12.11"), kubernetes: must("v1.35.4")},
	{
		latest: must("v1.13.9"), kubernetes: must("v1.36.3"),
		supports: Range{Minor{1, 31}, Minor{1, 36}}, upgradesFrom: Minor{1, 11},
	},
	{
		latest: must("v1.14.1"), kubernetes: must("v1.37.0"),
		supports: Range{Minor{1, 32}, Minor{1, 37}}, upgradesFrom: Minor{1, 12},
	},
}

// FirstUserVolumes is the first minor release of Talos with user volumes (its release notes).
var FirstUserVolumes = Minor{Major: 1, Minor: 10}

// find returns what is known about a minor release of Talos; false if nothing is.
func find(talos Minor) (release, bool) {
	at := slices.IndexFunc(releases, func(r release) bool { return r.latest.Minor() == talos })
	if at < 0 {
		return release{}, false
	}
	return releases[at], true
}

// Talos returns the minor releases of Talos that are supported.
func Talos() Range {
	return Range{First: releases[0].latest.Minor(), Last: releases[len(releases)-1].latest.Minor()}
}

// Latest returns the newest known patch release of a minor release of Talos; false for a minor that is not supported.
func Latest(talos Minor) (Version, bool) {
	known, found := find(talos)
	return known.latest, found
}

// DefaultKubernetes returns the Kubernetes that the newest known patch release of a minor release of Talos has by default; false
// for a minor that is not supported.
func DefaultKubernetes(talos Minor) (Version, bool) {
	known, found := find(talos)
	return known.kubernetes, found
}

// Kubernetes returns the minor releases of Kubernetes that a minor release of Talos supports; empty for one that is not supported.
func Kubernetes(talos Minor) Range {
	known, found := find(talos)
	if !found || known.supports != (Range{}) {
		return known.supports
	}
	return askedKubernetes(talos)
}

// lastKubernetesMinor is higher than every Kubernetes that a machinery supports.
const lastKubernetesMinor = 99

// askedKubernetes asks the machinery's compatibility package for each minor release, since it exports no list.
func askedKubernetes(talos Minor) Range {
	var supported Range
	target, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: talos.first().String()})
	if err != nil {
		return supported
	}
	for minor := range uint64(lastKubernetesMinor) {
		candidate := Minor{Major: 1, Minor: minor}
		version, err := compatibility.ParseKubernetesVersion(candidate.first().String())
		if err == nil && version.SupportedWith(target) == nil {
			supported = supported.extended(candidate)
		}
	}
	return supported
}

// installs reports whether the installer of a release of Talos runs on a machine with another, older one.
func installs(from, to Version) bool {
	known, found := find(to.Minor())
	if !found {
		return false
	}
	if known.upgradesFrom != (Minor{}) {
		return from.Minor().Compare(known.upgradesFrom) >= 0
	}
	host, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: from.String()})
	if err != nil {
		return false
	}
	target, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: to.String()})
	return err == nil && target.UpgradeableFrom(host) == nil
}

// oldestContract is the first contract that the machinery can generate (TalosVersion1_0 in its package config).
var oldestContract = Minor{Major: 1, Minor: 0}

// Contracts returns the contracts of machine configurations that can be generated, and the release of the machinery: the one in
// go.mod is the one inside the provider, and generates for its own release and older ones. An error means a machinery that was not
// released.
func Contracts() (contracts Range, machinery Version, err error) {
	machinery, err = Parse(gendata.VersionTag)
	if err != nil {
		return Range{}, Version{}, fmt.Errorf("the machinery calls itself %s: build em-infra from a released machinery", gendata.VersionTag)
	}
	return Range{First: oldestContract, Last: machinery.Minor()}, machinery, nil
}
