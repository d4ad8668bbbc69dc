package talos

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
)

// minors are minor releases, from the first one up to the last one.
type minors struct{ first, last int }

// laterRelease has what a minor release of Talos works with: the minors of Talos that it can be installed over, and those of
// Kubernetes that run on it.
type laterRelease struct{ hosts, kubernetes minors }

// laterReleases has the minors that are newer than this program's library (pkg/machinery/compatibility/talos113, v1.13.9;
// talos114, v1.14.0-rc.1).
var laterReleases = map[int]laterRelease{
	13: {hosts: minors{11, 14}, kubernetes: minors{31, 36}},
	14: {hosts: minors{12, 15}, kubernetes: minors{32, 37}},
}

var minorForm = regexp.MustCompile(`^v1\.(\d+)\.`)

// upgradeableFrom returns why the installer of a release refuses a node with another one.
func upgradeableFrom(host, target string) error {
	later, isLater := laterReleases[minorOf(target)]
	if isLater {
		return later.hosts.accept(host, target)
	}

	from, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: host})
	if err != nil {
		return err
	}

	to, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: target})
	if err != nil {
		return err
	}

	return to.UpgradeableFrom(from)
}

// accept returns why the minors do not contain the version of the host, with the texts of the library.
func (h minors) accept(host, target string) error {
	switch minor := minorOf(host); {
	case minor < h.first:
		return fmt.Errorf("host version %s is too old to upgrade to Talos %s", host[1:], target[1:])
	case minor > h.last:
		return fmt.Errorf("host version %s is too new to downgrade to Talos %s", host[1:], target[1:])
	default:
		return nil
	}
}

// minorOf returns the minor of a version of Talos 1, -1 for another text.
func minorOf(version string) int {
	match := minorForm.FindStringSubmatch(version)
	if match == nil {
		return -1
	}

	minor, err := strconv.Atoi(match[1])
	if err != nil {
		return -1
	}

	return minor
}
