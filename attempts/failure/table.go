// Package failure lists every way in which an attempt can be lost: one closed table that says who is responsible, whether
// another attempt makes sense, and how to explain it to the owner of the task. Every plugin uses it. It knows no
// Kubernetes types: pods/podstatus diagnoses pods, pods/attemptobject refused creations.
package failure

// Class says who is responsible for a lost attempt. Only the class User consumes the retries of the task. An exhausted
// quota is not a class: no attempt is lost, the plugin waits and retries.
type Class uint8

// The classes.
const (
	// User is the task itself: its code, its image, its resources.
	User Class = iota + 1
	// System is this installation or its cluster.
	System
	// Preempted is a node that was given to other work.
	Preempted
	// Infra is a machine that disappeared or refused the pod.
	Infra
)

// String returns the name of the class for logs and documentation.
func (c Class) String() string {
	return [...]string{"none", "user", "system", "preempted", "infra"}[c]
}

// Reason names one row of the table. It is the code that clients see.
type Reason string

// The reasons. Codes that the SDK knows raise exceptions of their own there. Codes that name pods are part of the wire
// contract; plugins use them for the other objects of an attempt too.
const (
	OOMKilled                 Reason = "OOMKilled"
	ContainerFailed           Reason = "ContainerFailed"
	RuntimeNotStarted         Reason = "RuntimeNotStarted"
	SegmentationFault         Reason = "SegmentationFault"
	Signalled                 Reason = "Signalled"
	Killed                    Reason = "Killed"
	Terminated                Reason = "Interrupted"
	StartError                Reason = "ContainerStartError"
	StorageExceeded           Reason = "StorageExceeded"
	Evicted                   Reason = "Evicted"
	Preemption                Reason = "Preempted"
	NodeLost                  Reason = "NodeLost"
	NodeRefused               Reason = "NodeRefusedPod"
	UnknownError              Reason = "UnknownError"
	RuntimeExceeded           Reason = "MAX_RUNTIME_EXCEEDED"
	DeadlineExceeded          Reason = "DEADLINE_EXCEEDED"
	QueuedTooLong             Reason = "QUEUED_TIMEOUT_EXCEEDED"
	DeletedExternally         Reason = "ResourceDeletedExternally"
	UnexpectedDeletion        Reason = "UnexpectedObjectDeletion"
	PrimaryContainerNotFound  Reason = "PrimaryContainerNotFound"
	ImagePullBackOff          Reason = "ImagePullBackOff"
	ImageRegistryBusy         Reason = "ImageRegistryBusy"
	InvalidImageName          Reason = "InvalidImageName"
	ImageNeverPull            Reason = "ErrImageNeverPull"
	CreateContainerError      Reason = "CreateContainerError"
	CreateContainerConfig     Reason = "CreateContainerConfigError"
	ContainerStuck            Reason = "ContainerStuck"
	ObjectRefused             Reason = "PodRefused"
	ObjectForbidden           Reason = "PodForbidden"
	ObjectTooLarge            Reason = "PodTooLarge"
	BadTaskSpecification      Reason = "BadTaskSpecification"
	PodNotAllowed             Reason = "PodNotAllowed"
	SecretMissing             Reason = "SecretMissing"
	SecretUnusable            Reason = "SecretUnusable"
	OutputsMissing            Reason = "OutputsMissing"
	ErrorUnreadable           Reason = "ErrorUnreadable"
	CopilotFailed             Reason = "CopilotFailed"
	TaskFailed                Reason = "TaskFailed"
	NoRoom                    Reason = "NoRoom"
	NotListening              Reason = "NotListening"
	PortTaken                 Reason = "PortTaken"
	OperatorMissing           Reason = "OperatorMissing"
	OperatorFailed            Reason = "OperatorFailed"
	GangFailed                Reason = "DownstreamSystemError"
	WorkerLost                Reason = "WorkerLost"
	WorkerOOM                 Reason = "WorkerOOMKilled"
	JobNotStarted             Reason = "JobNotStarted"
	JobFailed                 Reason = "JobFailed"
	JobAborted                Reason = "JobAborted"
	JobLost                   Reason = "JobLost"
	ClusterLost               Reason = "ClusterLost"
	ClusterDrained            Reason = "ClusterDrained"
	MaxSystemFailuresExceeded Reason = "MaxSystemFailuresExceeded"
)

// Row describes a reason.
type Row struct {
	Class Class
	// Recoverable means that another attempt may succeed.
	Recoverable bool
	// Words explain the reason to the owner of the task. Details follow them.
	Words string
}

// Table returns the row of every reason.
func Table() map[Reason]Row {
	return map[Reason]Row{
		OOMKilled:                 {User, true, "the task used more memory than its limit and was killed; ask for more memory"},
		ContainerFailed:           {User, true, "the task's process ended with an error"},
		RuntimeNotStarted:         {System, true, "the client library gave up before it ran the task's code, as happens on machines that are too busy"},
		SegmentationFault:         {User, true, "the task's process crashed with a segmentation fault (SIGSEGV), usually in native code"},
		Signalled:                 {User, true, "the task's process was ended by a signal"},
		Killed:                    {System, true, "the task's process was killed from outside (SIGKILL), often since its machine ran out of memory or went away"},
		Terminated:                {System, true, "the task's process was asked to stop from outside (SIGTERM) before it was done"},
		StartError:                {User, false, "the container could not start its command; check the image, the command and its permissions"},
		StorageExceeded:           {User, true, "the task wrote more to its local disk than its limit; ask for more ephemeral storage"},
		Evicted:                   {System, true, "the node ran short of resources and evicted the pod"},
		Preemption:                {Preempted, true, "the pod was removed from its node in favour of other work"},
		NodeLost:                  {Infra, true, "the node of the pod shut down or was lost"},
		NodeRefused:               {Infra, true, "the node refused the pod"},
		UnknownError:              {Infra, true, "the pod failed and the cluster does not say why"},
		RuntimeExceeded:           {User, true, "the attempt ran longer than its timeout"},
		DeadlineExceeded:          {User, false, "the action did not end within its deadline over all attempts"},
		QueuedTooLong:             {User, false, "the attempt did not begin to start within its queued timeout"},
		DeletedExternally:         {System, true, "the pod disappeared before it was done"},
		UnexpectedDeletion:        {System, true, "the pod was deleted by another client before it finished"},
		PrimaryContainerNotFound:  {User, false, "the pod has no container of the primary container's name"},
		ImagePullBackOff:          {User, true, "the image could not be pulled; check its name and the credentials of the registry"},
		ImageRegistryBusy:         {System, true, "the registry cannot serve the image for now"},
		InvalidImageName:          {User, false, "the image name is not valid"},
		ImageNeverPull:            {User, false, "the image is not on the node and its pull policy forbids to pull it"},
		CreateContainerError:      {User, true, "the container could not be created"},
		CreateContainerConfig:     {User, true, "the container's configuration refers to something that does not exist, such as a secret"},
		ContainerStuck:            {System, true, "the container does not start"},
		ObjectRefused:             {User, false, "the cluster refused the pod as invalid"},
		ObjectForbidden:           {User, false, "the cluster forbids this pod"},
		ObjectTooLarge:            {User, false, "the pod is too large for the cluster; make arguments and environment smaller"},
		BadTaskSpecification:      {User, false, "the task cannot be run as it is specified"},
		PodNotAllowed:             {User, false, "the task asks for a pod that this installation does not allow"},
		SecretMissing:             {User, false, "the task asks for a secret that does not exist"},
		SecretUnusable:            {User, false, "the task cannot get a secret in the way that it asks for"},
		OutputsMissing:            {User, true, "the task's process ended by itself with exit code 0 before the task returned: it wrote neither outputs nor an error"},
		CopilotFailed:             {System, true, "the inputs or outputs of the container could not be copied"},
		ErrorUnreadable:           {User, true, "the task reported an error that cannot be read"},
		TaskFailed:                {User, true, "the task reported an error"},
		PortTaken:                 {User, true, "the port that the app declares is taken on its machine"},
		OperatorMissing:           {System, true, "the cluster no longer has the kind of object that ran the attempt"},
		OperatorFailed:            {System, true, "the operator that runs the pods of the task gave it up, and no pod is to blame"},
		GangFailed:                {User, true, "the operator that runs the pods of the task says that the task failed"},
		WorkerLost:                {System, true, "the worker that ran the task was lost before it was done"},
		WorkerOOM:                 {System, true, "the worker that ran the task ran out of memory while it ran several tasks, and which of them used the memory is not known; ask for more memory, or for fewer tasks at a time"},
		JobNotStarted:             {User, true, "the connector could not start the job"},
		JobFailed:                 {User, false, "the job failed in the system that ran it"},
		JobAborted:                {User, false, "the job was stopped in the system that ran it"},
		JobLost:                   {System, true, "the connector no longer says how the job is"},
		NoRoom:                    {System, true, "no node has room for the pod now"},
		NotListening:              {User, true, "the process runs, but nothing accepts connections on the port of the app; check the port and that the app listens"},
		ClusterLost:               {System, true, "the cluster that ran the attempt is away, and the attempt was given up there"},
		ClusterDrained:            {System, true, "the cluster of the attempt is drained or takes no new work, and the attempt did not end or begin there in time"},
		MaxSystemFailuresExceeded: {System, false, "the system lost too many attempts"},
	}
}
