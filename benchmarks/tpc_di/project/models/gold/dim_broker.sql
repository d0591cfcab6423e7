select employee_id as broker_id, employee_name as broker_name, manager_name, branch, office, branch_headcount
from {{ ref('silver_employees') }}
where is_broker
