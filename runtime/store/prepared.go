package store

import (
	"context"
	"database/sql"
	"errors"

	"hermes.dev/hermes/runtime/store/db"
)

// hotStatements run several times in every model call. Compiling them costs more than running them, so they stay
// compiled on the write connection from its first write on, which costs a store about 50 KiB. Everything else is
// compiled anew each time.
func hotStatements() []string {
	return []string{db.InsertMessage, db.CountAppended, db.AddSessionUsage, db.AddModelUsage}
}

// prepared holds compiled statements by their text.
type prepared map[string]*sql.Stmt

// prepare compiles statements on the pool's connection, which must be free.
func prepare(ctx context.Context, pool *sql.DB, statements []string) (prepared, error) {
	ready := prepared{}
	for _, text := range statements {
		statement, err := pool.PrepareContext(ctx, text)
		if err != nil {
			return nil, errors.Join(err, ready.close())
		}
		ready[text] = statement
	}
	return ready, nil
}

func (p prepared) close() error {
	var errs []error
	for _, statement := range p {
		errs = append(errs, statement.Close())
	}
	return errors.Join(errs...)
}

// preparedTx is a transaction that uses the compiled statement where there is one.
type preparedTx struct {
	*sql.Tx
	ready prepared
}

// ExecContext implements db.DBTX.
func (t preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if statement, ok := t.ready[query]; ok {
		return t.Tx.StmtContext(ctx, statement).ExecContext(ctx, args...)
	}
	return t.Tx.ExecContext(ctx, query, args...)
}
