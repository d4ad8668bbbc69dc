package talos

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
)

// hosts are the minors of Talos that a release can be installed over: from the first one, and up to the last one.
type hosts struct{ first, last int }

// laterReleases has the minors that are newer than this program's library (pkg/machinery/compatibility/talos113, v1.13.9;
// talos114, v1.14.0-rc.1).
var laterReleases = map[int]hosts{13: {first: 11, last: 14}, 14: {first: 12, last: 15}}

var minorForm = regexp.MustCompile(`^v1\.(\d+)\.`)

// upgradeableFrom returns why the installer of a release refuses a node with another one.
func upgradeableFrom(host, target string) error {
	later, isLater := laterReleases[minorOf(target)]
	if isLater {
		return later.accept(host, target)
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

// accept has the texts of the library.
func (h hosts) accept(host, target string) error {
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
