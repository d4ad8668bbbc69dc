package inventory

import (
	"strconv"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// etcdBackup checks that the addon has one recipient to encrypt for, and that its pods can store snapshots in the bucket.
func (c *checker) etcdBackup(backup EtcdBackup, at *strictyaml.Path) {
	c.image(backup.Image, at.Key("image"))
	switch recipients := len(c.inv.Cluster.Backups.Recipients); {
	case !backup.Recipient.IsZero():
	case recipients > 1:
		c.cluster(at, fault{
			What: "has several recipients to choose from", Rule: "talos-backup encrypts for one of backups.recipients", Got: strconv.Itoa(recipients),
			Do: "give one of them as addons.etcdBackup.recipient",
		})
	default:
		c.cluster(at, fault{
			What: "has no recipient", Rule: "its snapshots are encrypted for an age key", Do: "give it in backups.recipients, or as addons.etcdBackup.recipient",
		})
	}
	c.bucketOfPods(at)
}

// bucketOfPods checks that the pods of the addon can use the bucket: they have the settings of talos-backup, and nothing of the machine
// that runs em-infra.
func (c *checker) bucketOfPods(addon *strictyaml.Path) {
	at, bucket := key("backups", "bucket"), c.inv.Cluster.Backups.Bucket
	if bucket.IsZero() {
		if !c.inv.clusterSource.Has(at) { // a wrong one was reported before
			c.cluster(addon, fault{What: "has no bucket", Rule: "its snapshots go to that of backups.bucket", Do: "give backups.bucket"})
		}
		return
	}
	settings, err := address.SettingsOf(bucket.String())
	switch {
	case err != nil:
		c.cluster(at, fault{
			What: "cannot be used by the pods of addons.etcdBackup", Rule: "they store in a bucket only", Got: bucket.Shown(),
			Do: "write s3://BUCKET?region=REGION, or remove the addon",
		})
		return
	case settings.Region == "":
		c.cluster(at, fault{
			What: "names no region for the pods of addons.etcdBackup", Rule: "they have no environment that does",
			Do: "add region=REGION to it (us-east-1 for most servers of your own)",
		})
	}
	for _, parameter := range settings.Others {
		c.cluster(at, fault{
			What: "has a parameter that the pods of addons.etcdBackup cannot follow", Rule: "talos-backup knows region, endpoint and use_path_style", Got: parameter,
			Do: "remove it, or the addon",
		})
	}
}
