package talos

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// findDisk is the firmware's look at a blank disk. A fault can put a node of another cluster there, like a disk that was not
// wiped when its owner changed.
func (m *vm) findDisk() error {
	hardware := m.facts()
	if m.fleet.systemDisk(hardware) != nil || len(hardware.Disks) == 0 || !m.effect(StepDisk).Occupied {
		return nil
	}

	release, err := m.fleet.config.Installer(hardware.ISO)
	if err != nil {
		return fmt.Errorf("boot from %s: %w", hardware.ISO, err)
	}

	cfg, err := m.formerConfig(hardware)
	if err != nil {
		return fmt.Errorf("make a control plane of another cluster: %w", err)
	}

	identity, err := randomNodeID(m.fleet.config.Rand)
	if err != nil {
		return err
	}

	_, err = m.fleet.format(contents{
		ID: hardware.Disks[0].ID, Partitions: systemPartitions(release.Version, hardware.Disks[0].Bytes),
		Release: release, Config: cfg, Identity: identity,
	})

	return err
}

// formerConfig returns a control plane's configuration with unknown secrets.
func (m *vm) formerConfig(hardware Hardware) ([]byte, error) {
	bundle, err := secrets.NewBundle(secrets.NewFixedClock(m.fleet.config.Now()), nil)
	if err != nil {
		return nil, err
	}

	host := "127.0.0.1"
	if addresses := hardware.addresses(); len(addresses) > 0 {
		host = addresses[0].Addr().String()
	}

	input, err := generate.NewInput("former-cluster", "https://"+host+":6443", constants.DefaultKubernetesVersion,
		generate.WithSecretsBundle(bundle), generate.WithInstallDisk("/dev/disk/by-path/"+hardware.plug(nil, hardware.Disks[0])[0].pathLink()))
	if err != nil {
		return nil, err
	}

	cfg, err := input.Config(machine.TypeControlPlane)
	if err != nil {
		return nil, err
	}

	return cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
}
