package nodeops

import (
	"context"
	"fmt"
	"regexp"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/image-factory/pkg/constants"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/versions"
)

// Release is a build of Talos: two nodes with the same one run the same system with the same extensions.
type Release struct {
	// Version of Talos, e.g. v1.12.4.
	Version string
	// Schematic is the ID of the Image Factory's schematic; empty for a build from elsewhere, and if the name of an image does not contain it.
	Schematic string
}

// shownDigits are enough to tell two schematics apart.
const shownDigits = 8

func (r Release) String() string {
	if r.Schematic == "" {
		return r.Version
	}
	return fmt.Sprintf("%s (schematic %.*s)", r.Version, shownDigits, r.Schematic)
}

// Satisfies reports whether a node that runs this release needs no upgrade to the wanted one. A copy of a factory's image in another registry
// contains its schematic, so a node reports a schematic that is not in the name of the copy. Then only the version is compared.
func (r Release) Satisfies(wanted Release) bool {
	return r.Version == wanted.Version && (wanted.Schematic == "" || r.Schematic == wanted.Schematic)
}

// factoryForm matches an installer image of an Image Factory.
var factoryForm = regexp.MustCompile(`[/-]installer(?:-secureboot)?/([0-9a-f]{64})[:@]`)

// ReleaseOf returns the release that the name of an installer image contains. The name of an image from elsewhere, which a patch of the inventory may
// set, contains no schematic.
func ReleaseOf(image string) (Release, error) {
	version := versions.OfImage(image)
	if version.IsZero() {
		return Release{}, fmt.Errorf("%q is no installer image with a release of Talos: give one like factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4", image)
	}
	release := Release{Version: version.String()}
	if match := factoryForm.FindStringSubmatch(image); match != nil {
		release.Schematic = match[1]
	}
	return release, nil
}

// Running is what a node runs.
type Running struct {
	// Release of Talos.
	Release Release
	// Boot is the ID of the current boot, another one after each reboot.
	Boot string
	// Stage of the machine.
	Stage runtime.MachineStage
}

// IsStopping reports whether the node is in a stage that ends with a reboot.
func (r Running) IsStopping() bool {
	return r.Stage == runtime.MachineStageUpgrading || r.Stage == runtime.MachineStageRebooting
}

// Leaves reports whether the node ends the boot with this ID, or has ended it.
func (r Running) Leaves(boot string) bool { return r.Boot != boot || r.IsStopping() }

// LookAt reads what a node runs from its own API. The error is one clause about that node, without its name.
func LookAt(ctx context.Context, talosconfig []byte, address string) (Running, error) {
	var seen Running
	err := Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) (err error) {
		if seen.Boot, err = BootID(ctx, api); err != nil {
			return err
		}
		if seen.Release, err = readRelease(ctx, api); err != nil {
			return err
		}
		status, err := safe.StateGetByID[*runtime.MachineStatus](ctx, api.COSI, runtime.MachineStatusID)
		if err != nil {
			return err
		}
		seen.Stage = status.TypedSpec().Stage
		return nil
	})
	return seen, err
}

func readRelease(ctx context.Context, api *client.Client) (Release, error) {
	version, err := api.Version(ctx)
	if err != nil {
		return Release{}, err
	}
	var seen Release
	for _, message := range version.GetMessages() {
		seen.Version = message.GetVersion().GetTag()
	}
	seen.Schematic, err = readSchematic(ctx, api.COSI)
	return seen, err
}

// readSchematic reads the schematic's ID from the extension that the Image Factory adds to each of its images (image-factory
// v0.6.9, internal/artifacts/schematic.go).
func readSchematic(ctx context.Context, resources state.State) (string, error) {
	extensions, err := safe.StateListAll[*runtime.ExtensionStatus](ctx, resources)
	if err != nil {
		return "", err
	}
	for extension := range extensions.All() {
		if metadata := extension.TypedSpec().Metadata; metadata.Name == constants.SchematicIDExtensionName {
			return metadata.Version, nil
		}
	}
	return "", nil
}
