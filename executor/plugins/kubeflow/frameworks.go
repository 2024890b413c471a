package kubeflow

import (
	"context"
	"strings"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins/kubeflow"
)

// workerCommandKey is the entry of a task's config with the command of MPI workers, which otherwise run that of the task.
const workerCommandKey = "worker_spec_command"

// pytorch returns the specification of a PyTorchJob. An elastic job has workers only; its first worker is the rendezvous.
func pytorch(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	task, err := torch(draft)
	if err != nil {
		return nil, err
	}
	workers := replicasOf("Worker", "worker", task.GetWorkerReplicas())
	if workers.count < 1 {
		return nil, operated.Bad("worker_replicas: want at least 1, got %d", workers.count)
	}
	elastic := task.GetElasticConfig()
	workers.alike, workers.follows = elastic != nil, elastic == nil
	roles := []replicas{workers}
	if elastic == nil {
		master := replicasOf("Master", "master", task.GetMasterReplicas())
		master.count = 1
		roles = append(roles, master)
	}
	pods, err := specs(ctx, draft, roles...)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{"pytorchReplicaSpecs": pods, "runPolicy": runPolicy(task.GetRunPolicy())}
	if elastic != nil {
		policy := map[string]any{
			"rdzvBackend": elastic.GetRdzvBackend(), "maxRestarts": int64(elastic.GetMaxRestarts()),
			"minReplicas": int64(elastic.GetMinReplicas()), "maxReplicas": int64(elastic.GetMaxReplicas()),
		}
		if processes := elastic.GetNprocPerNode(); processes > 0 {
			policy["nProcPerNode"] = int64(processes)
		}
		spec["elasticPolicy"] = policy
	}
	return spec, nil
}

// torch reads what a PyTorch task asks for.
func torch(draft *operated.Draft) (*kubeflow.DistributedPyTorchTrainingTask, error) {
	task := &kubeflow.DistributedPyTorchTrainingTask{}
	if draft.Template.GetTaskTypeVersion() == 0 {
		flat := &plugins.DistributedPyTorchTrainingTask{}
		if err := draft.Custom(flat); err != nil {
			return nil, err
		}
		task.WorkerReplicas = &kubeflow.DistributedPyTorchTrainingReplicaSpec{Common: count(flat.GetWorkers())}
		if elastic := flat.GetElasticConfig(); elastic != nil {
			task.ElasticConfig = &kubeflow.ElasticConfig{
				RdzvBackend: elastic.GetRdzvBackend(), MinReplicas: elastic.GetMinReplicas(), MaxReplicas: elastic.GetMaxReplicas(),
				NprocPerNode: elastic.GetNprocPerNode(), MaxRestarts: elastic.GetMaxRestarts(),
			}
		}
	} else if err := draft.Custom(task); err != nil {
		return nil, err
	}
	return task, nil
}

// mpi returns the specification of an MPIJob: a launcher, and workers that wait for it.
func mpi(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	task := &kubeflow.DistributedMPITrainingTask{}
	if draft.Template.GetTaskTypeVersion() == 0 {
		flat := &plugins.DistributedMPITrainingTask{}
		if err := draft.Custom(flat); err != nil {
			return nil, err
		}
		task.WorkerReplicas = &kubeflow.DistributedMPITrainingReplicaSpec{Common: count(flat.GetNumWorkers())}
		task.LauncherReplicas = &kubeflow.DistributedMPITrainingReplicaSpec{Common: count(flat.GetNumLauncherReplicas())}
		task.Slots = flat.GetSlots()
	} else if err := draft.Custom(task); err != nil {
		return nil, err
	}
	launcher, workers := replicasOf("Launcher", "launcher", task.GetLauncherReplicas()), replicasOf("Worker", "worker", task.GetWorkerReplicas())
	launcher.count = 1
	if workers.count < 1 {
		return nil, operated.Bad("worker_replicas: want at least 1, got %d", workers.count)
	}
	workers.follows = true
	if command := task.GetWorkerReplicas().GetCommand(); len(command) > 0 {
		workers.command = command
	} else if command := draft.Template.GetConfig()[workerCommandKey]; command != "" {
		workers.command = strings.Fields(command)
	}
	pods, err := specs(ctx, draft, launcher, workers)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"mpiReplicaSpecs": pods, "runPolicy": runPolicy(task.GetRunPolicy()), "slotsPerWorker": int64(max(task.GetSlots(), 1)),
	}, nil
}

// tensorflow returns the specification of a TFJob.
func tensorflow(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	task := &kubeflow.DistributedTensorflowTrainingTask{}
	if draft.Template.GetTaskTypeVersion() == 0 {
		flat := &plugins.DistributedTensorflowTrainingTask{}
		if err := draft.Custom(flat); err != nil {
			return nil, err
		}
		pods := func(number int32) *kubeflow.DistributedTensorflowTrainingReplicaSpec {
			return &kubeflow.DistributedTensorflowTrainingReplicaSpec{Common: count(number)}
		}
		task.WorkerReplicas, task.PsReplicas = pods(flat.GetWorkers()), pods(flat.GetPsReplicas())
		task.ChiefReplicas, task.EvaluatorReplicas = pods(flat.GetChiefReplicas()), pods(flat.GetEvaluatorReplicas())
	} else if err := draft.Custom(task); err != nil {
		return nil, err
	}
	workers := replicasOf("Worker", "worker", task.GetWorkerReplicas())
	if workers.count < 1 {
		return nil, operated.Bad("worker_replicas: want at least 1, got %d", workers.count)
	}
	chief, ps, evaluator := replicasOf("Chief", "chief", task.GetChiefReplicas()), replicasOf("PS", "ps", task.GetPsReplicas()),
		replicasOf("Evaluator", "evaluator", task.GetEvaluatorReplicas())
	workers.follows = chief.count > 0
	workers.alike, ps.follows, evaluator.follows = !workers.follows, true, true
	pods, err := specs(ctx, draft, workers, ps, chief, evaluator)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"tfReplicaSpecs": pods, "runPolicy": runPolicy(task.GetRunPolicy()),
		// By default, a job without a chief succeeds with its first worker, whatever happens to the others afterwards.
		"successPolicy": "AllWorkers",
	}, nil
}

// count is what older clients say of a role.
func count(replicas int32) *plugins.CommonReplicaSpec {
	return &plugins.CommonReplicaSpec{Replicas: replicas}
}
