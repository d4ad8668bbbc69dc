package preflight

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/truenas"
)

// checkNAS checks whether the TrueNAS box can take what the cluster has on it. A run that touches nothing there is not refused.
func checkNAS(s *collector, inv *inventory.Inventory, found Snapshot) {
	nas, storage := found.NAS, inv.Cluster.Storage
	if nas == nil || storage == nil {
		return
	}
	mark := len(s.checks)
	judgeNAS(s, inv.Cluster, *nas)
	if nas.IsSpared {
		s.soften(mark)
	}
}

func judgeNAS(s *collector, cluster inventory.Cluster, nas NAS) {
	storage := *cluster.Storage
	switch {
	case nas.Err != nil:
		for _, err := range eachOf(nas.Err) {
			s.refused("nas", err)
		}
	case nas.Version.Err != nil:
		s.boxRefused("nas", nas.Version.Err)
	default:
		checkRelease(s, nas)
		checkRoles(s, cluster, nas)
		checkPool(s, storage, nas)
		checkDatasets(s, storage, nas)
		checkCSI(s, cluster.Addons.TrueNAS, nas)
	}
}

// boxRefused adds a failure of a query to the box. The error of a method may have no remedy of its own, or attributes in its place.
func (s *collector) boxRefused(name string, err error) {
	if _, do := remedy.Split(err); do == "" && errors.As(err, new(*truenas.Error)) {
		s.fail(name, "see /var/log/middlewared.log on the box, then run it again", "%s", inOneLine(err))
		return
	}
	s.refused(name, err)
}

// eachOf returns the problems of an inventory one by one, and any other error alone.
func eachOf(err error) []error {
	problems := new(inventory.Problems)
	if !errors.As(err, &problems) {
		return []error{err}
	}
	var each []error
	for _, problem := range *problems {
		each = append(each, problemError{problem})
	}
	return each
}

// problemError is a problem of an inventory as an error of its own.
type problemError struct{ inventory.Problem }

func (p problemError) Error() string { return p.String() }

func (p problemError) Remedy() string { return p.Do }

// trueNASRelease matches a release such as 25.10.6, SCALE-24.10.2 and 26.0.0-BETA.3.
var trueNASRelease = regexp.MustCompile(`^(?:SCALE-)?(\d+)\.(\d+)`)

// The releases of TrueNAS that em-infra knows, as year*100+month; 26 has no month.
const (
	firstTrueNAS   = 2504
	unknownTrueNAS = 2700
)

// releaseOf returns a release as year*100+month.
func releaseOf(version string) (release int, known bool) {
	parts := trueNASRelease.FindStringSubmatch(version)
	if parts == nil {
		return 0, false
	}
	year, _ := strconv.Atoi(parts[1]) // digits
	month, _ := strconv.Atoi(parts[2])
	return year*100 + month, true
}

func checkRelease(s *collector, nas NAS) {
	version := nas.Version.Value
	switch release, known := releaseOf(version); {
	case !known:
		s.warn("nas", "see that storage.endpoint is that of TrueNAS", "%s says that it is TrueNAS %q", nas.Endpoint, version)
	case release < firstTrueNAS:
		s.fail("nas", "update it to 25.04 or later", "TrueNAS %s at %s is too old", version, nas.Endpoint)
	case release >= unknownTrueNAS:
		s.warn("nas", "try it on another box first, and look for a newer em-infra", "TrueNAS %s at %s is newer than this program knows", version, nas.Endpoint)
	default:
		s.ok("nas", "TrueNAS %s answers at %s, and accepts the key of %s", version, nas.Endpoint, nas.User)
	}
}

// neededRoles returns the roles that a run calls methods with (docs/storage.md): for what the inventory describes, and for what the state has
// already, which the run reads and may remove.
func neededRoles(c inventory.Cluster, kinds []tokens.Type) []string {
	has := func(kind tokens.Type) bool { return slices.Contains(kinds, kind) }
	storage := c.Storage
	roles := []string{"POOL_READ", "DATASET_WRITE"}
	exports := slices.ContainsFunc(storage.Datasets, func(d inventory.StorageDataset) bool { return d.NFS != nil })
	if !storage.Protect {
		roles = append(roles, "DATASET_DELETE")
	}
	if exports || has(token.NFSShare) {
		roles = append(roles, "SHARING_NFS_WRITE")
	}
	if storage.ISCSI != nil || has(token.ISCSIPortal) || has(token.ISCSIInitiatorGroup) {
		roles = append(roles, "SHARING_ISCSI_WRITE")
	}
	truenas := c.Addons.TrueNAS
	servesDriver := truenas != nil && truenas.CSI != nil && truenas.CSI.Serves(inventory.ProtocolNFS)
	if exports || servesDriver || storage.ISCSI != nil || has(token.Service) {
		roles = append(roles, "SERVICE_READ", "SERVICE_WRITE")
	}
	if truenas != nil || has(token.Account) {
		roles = append(roles, "ACCOUNT_WRITE", "PRIVILEGE_WRITE", "API_KEY_WRITE")
	}
	return roles
}

func checkRoles(s *collector, c inventory.Cluster, nas NAS) {
	if nas.Roles.Err != nil {
		s.boxRefused("nas-roles", nas.Roles.Err)
		return
	}
	lacking := without(neededRoles(c, nas.Kinds), nas.Roles.Value)
	if len(lacking) > 0 && !slices.Contains(nas.Roles.Value, truenas.FullAdmin) {
		s.fail("nas-roles", "add them in Credentials > Groups > Privileges of TrueNAS, to the privilege of its group",
			"user %s of TrueNAS lacks the roles %s", nas.User, strings.Join(lacking, ", "))
		return
	}
	s.ok("nas-roles", "user %s of TrueNAS has the roles that the storage needs", nas.User)
}
