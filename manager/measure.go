package manager

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/manager/port"
	"github.com/flyte-binary/flyte-binary/manager/system"
)

// measure exports the checks of the process and the figures that they rest on. Checks run when they are scraped.
func (p *process) measure() error {
	meter := p.telemetry.Meter.Meter("github.com/flyte-binary/flyte-binary/manager")
	if err := p.measureChecks(meter); err != nil {
		return err
	}
	if err := gauge(meter, "flyte.build.info", "", "1, with the version of the program", func(_ context.Context, set observe) error {
		set(1, attribute.String("version", p.options.Version))
		return nil
	}); err != nil {
		return err
	}
	if p.cluster != nil {
		if err := gauge(meter, "flyte.certificate.expiry.timestamp", "s",
			"when a certificate of the connection to the API server expires, in Unix time, by certificate: client or authority",
			func(_ context.Context, set observe) error {
				for name, expires := range port.ClusterCertificates(p.cluster) {
					set(float64(expires.Unix()), attribute.String("certificate", name))
				}
				return nil
			}); err != nil {
			return err
		}
	}
	if p.cluster != nil {
		if err := gauge(meter, "flyte.kubernetes.calls.late", "",
			"share of the calls to the API server in the last minute that took longer than 5 s or had no answer, 0 to 1",
			func(_ context.Context, set observe) error { set(p.pace.LastMinute().Share()); return nil }); err != nil {
			return err
		}
	}
	if p.pool == nil {
		return nil
	}
	return p.measurePool(meter)
}

func (p *process) measureChecks(meter metric.Meter) error {
	up, err := meter.Float64ObservableGauge("flyte.component.up",
		metric.WithDescription("1 for a component that answers, 0 for one without which this process cannot serve"))
	if err != nil {
		return fmt.Errorf("make metric flyte.component.up: %w", err)
	}
	degraded, err := meter.Float64ObservableGauge("flyte.component.degraded",
		metric.WithDescription("1 for a component that works, but not as it should"))
	if err != nil {
		return fmt.Errorf("make metric flyte.component.degraded: %w", err)
	}
	if _, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		for _, one := range p.checks.Run(ctx, p.clock) {
			failed, label := one.Err != nil, metric.WithAttributes(attribute.String("component", one.Name))
			if one.Soft {
				o.ObserveFloat64(degraded, indicator(failed), label)
			} else {
				o.ObserveFloat64(up, indicator(!failed), label)
			}
		}
		return nil
	}, up, degraded); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if p.runs != nil {
		if err := gauge(meter, "flyte.writes.oldest", "s", "how long the oldest change of an action has waited to be stored",
			func(_ context.Context, set observe) error { set(p.runs.OldestWrite().Seconds()); return nil }); err != nil {
			return err
		}
	}
	return gauge(meter, "flyte.storage.free", "By", "space that is left on the disk of a storage directory",
		func(ctx context.Context, set observe) error {
			ctx, cancel := context.WithTimeout(ctx, system.CheckTimeout)
			defer cancel()
			left, known, err := p.blobs.FreeBytes(ctx)
			if err == nil && known { // the check of the disk says why not
				set(float64(left))
			}
			return nil
		})
}

// measurePool exports what the pool of connections to the database counts.
func (p *process) measurePool(meter metric.Meter) error {
	connections := "flyte.database.connections"
	if err := gauge(meter, connections, "", "connections of this process to the database, by state: used or idle",
		func(_ context.Context, set observe) error {
			stat := p.pool.Stat()
			set(float64(stat.AcquiredConns()), attribute.String("state", "used"))
			set(float64(stat.IdleConns()), attribute.String("state", "idle"))
			return nil
		}); err != nil {
		return err
	}
	if err := gauge(meter, connections+".max", "", "how many connections this process may have, database.maxConns",
		func(_ context.Context, set observe) error { set(float64(p.pool.Stat().MaxConns())); return nil }); err != nil {
		return err
	}
	_, err := meter.Float64ObservableCounter("flyte.database.wait", metric.WithUnit("s"),
		metric.WithDescription("time that callers waited because all connections to the database were used"),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(p.pool.Stat().EmptyAcquireWaitTime().Seconds())
			return nil
		}))
	if err != nil {
		return fmt.Errorf("make metric flyte.database.wait: %w", err)
	}
	return nil
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// observe sets the value of a gauge for some labels.
type observe func(value float64, labels ...attribute.KeyValue)

// gauge makes a gauge that is read when it is scraped.
func gauge(meter metric.Meter, name, unit, about string, read func(context.Context, observe) error) error {
	_, err := meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about),
		metric.WithFloat64Callback(func(ctx context.Context, o metric.Float64Observer) error {
			return read(ctx, func(value float64, labels ...attribute.KeyValue) {
				o.Observe(value, metric.WithAttributes(labels...))
			})
		}))
	if err != nil {
		return fmt.Errorf("make metric %s: %w", name, err)
	}
	return nil
}
