package components

import (
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/versions"
)

// requireVersions checks that the contract and Kubernetes fit the Talos of each template. A version that cannot be read is reported elsewhere.
func (args TalosClusterArgs) requireVersions() error {
	var problems []error
	for i, template := range args.Templates {
		talos, known := template.talos()
		if !known {
			continue
		}
		of := fmt.Sprintf("Templates[%d]", i)
		problems = append(problems, requireContract(args.Contract, talos, of), requireKubernetes(args.KubernetesVersion, talos, of))
	}
	return errors.Join(problems...)
}

// talos returns the version of Talos of a template; false if it is nil or its version cannot be read.
func (t *TalosTemplate) talos() (versions.Version, bool) {
	if t == nil {
		return versions.Version{}, false
	}
	talos, err := versions.Parse(t.image.version)
	return talos, err == nil
}

// requireContract refuses configurations that the Talos of a template does not read.
func requireContract(contract string, talos versions.Version, template string) error {
	oldest, err := versions.Parse(contract + ".0")
	return require(err != nil || oldest.Minor().Compare(talos.Minor()) <= 0, "Contract",
		fmt.Sprintf("%s is above the Talos of %s, %s: give %s, or what the cluster was created with", contract, template, talos, talos.Minor()))
}

// requireKubernetes refuses a Kubernetes that the Talos of a template does not support. A Talos of an unknown version is not judged.
func requireKubernetes(kubernetes string, talos versions.Version, template string) error {
	version, err := versions.Parse(kubernetes)
	fits := versions.Kubernetes(talos.Minor())
	if err != nil || !versions.Talos().Holds(talos.Minor()) {
		return nil
	}
	return require(fits.Holds(version.Minor()), "KubernetesVersion",
		fmt.Sprintf("%s is %s for the Talos of %s, %s: give a version of %s", version, fits.Side(version.Minor()), template, talos, fits))
}

// requireVolumesFor refuses data disks that the Talos of the template cannot mount.
func (t *TalosTemplate) requireVolumesFor(m Machine) error {
	talos, known := t.talos()
	return require(!known || len(m.DataDisks) == 0 || talos.Minor().Compare(versions.FirstUserVolumes) >= 0, "DataDisks",
		fmt.Sprintf("user volumes came with Talos %s, and its template has %s: give it a newer one, or no data disks", versions.FirstUserVolumes, talos))
}
