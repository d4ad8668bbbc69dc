package preflight

import "github.com/em-infra/em-infra/internal/inventory"

// firstForCSI is the first release that truenas-csi supports (truenas/truenas-csi, README.md), as year*100+month.
const firstForCSI = 2510

// checkCSI checks what the CSI driver expects of the box: a release, and names of targets that begin as it writes them into volumes.
func checkCSI(s *collector, truenas *inventory.TrueNAS, nas NAS) {
	if truenas == nil || truenas.CSI == nil {
		return
	}
	csi := truenas.CSI
	if release, known := releaseOf(nas.Version.Value); known && release < firstForCSI && release >= firstTrueNAS {
		s.fail("nas-csi", "update it to 25.10 or later, or remove addons.truenas.csi", "TrueNAS %s at %s is too old for truenas-csi", nas.Version.Value, nas.Endpoint)
	}
	if !csi.Serves(inventory.ProtocolISCSI) {
		return
	}
	switch {
	case nas.ISCSIBase.Err != nil:
		s.boxRefused("nas-csi", nas.ISCSIBase.Err)
	case nas.ISCSIBase.Value != csi.IQNBase:
		s.fail("nas-csi", "write iqnBase: "+nas.ISCSIBase.Value+" into addons.truenas.csi", "the iSCSI targets of TrueNAS begin with %s, and not with %s: no node could log in", nas.ISCSIBase.Value, csi.IQNBase)
	default:
		s.ok("nas-csi", "the iSCSI targets of TrueNAS begin with %s", csi.IQNBase)
	}
}
