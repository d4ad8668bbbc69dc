package pve

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthermonson/go-proxmox"
)

// method is how a request is sent.
type method func(client *proxmox.Client, ctx context.Context, path string, body any, into any) error

func post(client *proxmox.Client, ctx context.Context, path string, body, into any) error {
	return client.Post(ctx, path, body, into)
}

func put(client *proxmox.Client, ctx context.Context, path string, body, into any) error {
	return client.Put(ctx, path, body, into)
}

func remove(client *proxmox.Client, ctx context.Context, path string, _, into any) error {
	return client.Delete(ctx, path, into)
}

// work sends a request that starts a task, and waits for the task's end. The error is that of the request or of the task.
func (c Connection) work(ctx context.Context, client *proxmox.Client, send method, path string, body any) error {
	var upid proxmox.UPID
	if err := send(client, ctx, path, body, &upid); err != nil {
		return withoutURL(err)
	}
	if upid == "" {
		return nil
	}
	task := proxmox.NewTask(upid, client)
	if err := task.Wait(ctx, downloadInterval, downloadTimeout); err != nil {
		return fmt.Errorf("its task %s: %w", upid, withoutURL(err))
	}
	if hasFailed(task) {
		return errors.New(task.ExitStatus)
	}
	return nil
}
