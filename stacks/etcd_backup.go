package stacks

import (
	"path"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/inventory"
)

// SnapshotFolder returns the folder of a stack's snapshots of etcd, below what the URL of the bucket names.
func SnapshotFolder(stack string) string { return path.Join(stack, "etcd") }

// snapshotNamespace returns the namespace whose pods take snapshots of etcd; empty if none do.
func snapshotNamespace(addons inventory.Addons) string {
	if addons.EtcdBackup == nil {
		return ""
	}
	return components.EtcdBackupNamespace
}

// etcdBackup returns the CronJob, which stores where em-infra does.
func (m *addonMapping) etcdBackup(backup inventory.EtcdBackup, stack string) *components.EtcdBackup {
	settings, _ := address.SettingsOf(m.inv.Cluster.Backups.Bucket.String()) // the loader has checked it
	return &components.EtcdBackup{
		Schedule: backup.Schedule.String(), Image: backup.Image, Recipient: backup.Recipient.String(),
		Bucket: settings.Bucket, Prefix: path.Join(settings.Prefix, SnapshotFolder(stack)), Region: settings.Region,
		Endpoint: settings.Endpoint, PathStyle: settings.PathStyle && settings.Endpoint != "",
		AccessKeyID:     m.keys.secret(backupAccessKeyID, "addons", "etcdBackup"),
		SecretAccessKey: m.keys.secret(backupSecretAccessKey, "addons", "etcdBackup"),
	}
}
