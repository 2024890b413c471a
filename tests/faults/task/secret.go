package main

import (
	"fmt"
	"os"

	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// checkSecret notes a secret that is not the one that the task needs. The task then continues: the checker finds the note.
func (p *taskProcess) checkSecret() error {
	got := os.Getenv(script.SecretEnv)
	if p.node.Secret == "" || got == p.node.Tenant.SecretValue(p.node.Secret) {
		return nil
	}
	return p.Note(ledger.Line{What: ledger.Secret, Note: fmt.Sprintf("%s is %q", p.node.Secret, got)})
}
