// Package eventstream publishes every change of runs and actions as CloudEvents, over HTTP and to NATS and Kafka. The
// runs service lists the events of its log that a sink has not been sent yet, in the transactions that append them. This
// service sends each sink its list: at least once, in order for each run, and from where it was after an outage.
package eventstream
